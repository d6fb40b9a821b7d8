/**
 * kill -9 of the whole service under load, again and again on one store; on SQLite also power cuts, which take what was
 * written and not synced. What was acknowledged must be there afterwards.
 */
import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileOf } from '../../src/platform/db/open.ts'
import { type ServingChild, serveStore } from '../support/child.ts'
import { type Engine, newStore } from '../support/engines.ts'
import { newFaults } from '../support/faults.ts'
import { startMailServer } from '../support/smtp.ts'
import { eventually } from '../support/wait.ts'
import { Acknowledged, checkKept, checkMails, loadSecret, passThrough } from './acknowledged.ts'

const clientCount = 8

export interface CrashReport {
  readonly kills: number
  readonly registered: number
  readonly sent: number
  readonly signedIn: number
  readonly refreshed: number
  readonly signedOut: number
  readonly mails: number
  readonly mailsTwice: number
  /** By power cuts. */
  readonly lostWrites?: number
}

export interface CrashOptions {
  readonly engine: Engine
  readonly workers: 1 | 2
  /** How many sign-ins are acknowledged before each kill. */
  readonly lives: readonly number[]
  /** Each kill is a power cut. `unsynced`: on a disk that only says that it syncs. */
  readonly power?: 'cut' | 'cut, unsynced'
}

export async function crashes({ engine, workers, lives, power }: CrashOptions): Promise<CrashReport> {
  const store = await newStore(engine)
  const mail = await startMailServer()
  const noted = new Acknowledged()
  const file = fileOf(store.url)
  const faults = power === undefined ? undefined : newFaults(dirname(file!))
  if (power === 'cut, unsynced') faults!.failSyncs('lies')
  const env = {
    CHIRON_LIMITS: 'off',
    CHIRON_SECRET: loadSecret,
    CHIRON_WORKERS: String(workers),
  }
  const serve = () => serveStore(store.url, mail, { ...env, ...faults?.begin() })
  let lostWrites = 0
  let child: ServingChild | undefined
  try {
    for (const [life, signIns] of lives.entries()) {
      child = await serve()
      const target = child
      const load = Promise.all(
        Array.from({ length: clientCount }, (_, client) => hammer(target, noted, `l${life}c${client}`)),
      )
      const before = noted.signedIn.size
      await eventually('enough is acknowledged', () => noted.signedIn.size >= before + signIns)
      // Workers are in the same group, and go with the primary.
      process.kill(-child.pid, 'SIGKILL')
      await child.exited
      await load
      if (faults) lostWrites += faults.losePower(power === 'cut, unsynced' ? 'none' : 'some')
      if (file !== null) checkSound(file)
    }
    child = await serve()
    await checkKept(child, store.url, noted)
    const mailsTwice = await checkMails(store.url, noted, mail.received, lives.length)
    return {
      kills: lives.length,
      ...noted.counts(),
      mails: mail.received.length,
      mailsTwice,
      ...(faults && { lostWrites }),
    }
  } finally {
    await child?.end('SIGKILL')
    faults?.remove()
    await mail.close()
    await store.remove()
  }
}

export function checkSound(file: string): void {
  const database = new DatabaseSync(file)
  try {
    assert.deepEqual(
      database
        .prepare('pragma integrity_check')
        .all()
        .map(({ integrity_check }) => integrity_check),
      ['ok'],
    )
  } finally {
    database.close()
  }
}

/** Until the service goes away. */
async function hammer(target: ServingChild, noted: Acknowledged, name: string): Promise<void> {
  try {
    for (let n = 0; ; n++) await passThrough(target, noted, `${name}n${n}@crash.example`, n)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (!['ECONNRESET', 'ECONNREFUSED', 'EPIPE'].includes(code)) throw error
  }
}
