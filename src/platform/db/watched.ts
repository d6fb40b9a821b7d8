/** Wraps a store and reports the duration and outcome of each call, for metrics and traces. */
import type { Db } from './db.ts'

export type StoreCall = 'read' | 'write'

/** Called when a call begins; the returned function is called when it ends, with the error if it failed. */
export type StoreWatch = (call: StoreCall) => (error?: unknown) => void

export function watchedDb(db: Db, watch: StoreWatch): Db {
  const watched =
    <Args extends unknown[], Result>(call: StoreCall, work: (...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> => {
      const ended = watch(call)
      const answer = work(...args)
      answer.then(() => ended(), ended)
      return answer
    }
  return {
    ...db,
    all: watched('read', db.all) as Db['all'],
    one: watched('read', db.one) as Db['one'],
    byId: watched('read', db.byId) as Db['byId'],
    run: watched('write', db.run) as Db['run'],
    tx: watched('write', db.tx),
    unsynced: watched('write', db.unsynced),
    decide: watched('write', db.decide) as Db['decide'],
    stage: watched('write', db.stage),
  }
}
