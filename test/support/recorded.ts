/** Records what a store is asked to do from now on. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Db, ReadById, Statement } from '../../src/platform/db/db.ts'
import { isTake, type Step } from '../../src/platform/db/decision.ts'

export interface Call {
  /** A `take` is what strangers share, a `decision` locks, decides and writes. */
  readonly kind: 'read' | 'transaction' | 'unsynced' | 'take' | 'decision'
  readonly statements: readonly Statement[]
}

export function recordStore(db: Db, noted: (call: Call) => void): void {
  const { all, one, byId, run, tx, unsynced, decide } = db
  const single =
    <R>(kind: Call['kind'], call: (sql: string, params?: Statement['params']) => R) =>
    (sql: string, params: Statement['params'] = []) => {
      noted({ kind, statements: [{ sql, params }] })
      return call(sql, params)
    }
  const several =
    (kind: Call['kind'], call: Db['tx']): Db['tx'] =>
    (statements) => {
      noted({ kind, statements })
      return call(statements)
    }
  const watched = (step: Step<unknown>): Step<unknown> => {
    // The store runs it later, perhaps among the calls of somebody else.
    const here = AsyncLocalStorage.snapshot()
    const note = (call: Call) => here(() => noted(call))
    if (isTake(step)) {
      return {
        take: step.take,
        judge(rows) {
          note({ kind: 'take', statements: [step.take] })
          return step.judge(rows)
        },
      }
    }
    return {
      asks: step.asks,
      rule(rows) {
        const outcome = step.rule(rows)
        const asked = step.asks.flatMap(({ make, question }) => (make ? [make, question] : [question]))
        note({ kind: 'decision', statements: [...asked, ...(outcome.writes ?? [])] })
        return outcome
      },
    }
  }
  Object.assign(db, {
    all: single('read', all),
    one: single('read', one),
    byId(lookup: ReadById, id: string) {
      noted({ kind: 'read', statements: [{ sql: lookup.one, params: [id] }] })
      return byId(lookup, id)
    },
    run: single('transaction', run),
    tx: several('transaction', tx),
    unsynced: several('unsynced', unsynced),
    decide: (...[first, ...others]: Parameters<Db['decide']>) =>
      decide(watched(first), ...others.map(watched)),
  })
}
