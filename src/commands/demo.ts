/** A small school to sign in to, for whoever starts the service for the first time. Never in production. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { demoAddresses, demoSchool } from '../../demo/school.ts'
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import type { Clock } from '../lib/clock.ts'
import { Roster } from '../roster/roster.ts'
import { dayIn } from '../student/classes.ts'

/** Into an empty store only. Gives the addresses to try while the store holds the demo school and nothing else. */
export async function loadDemo(
  config: Config,
  db: Db,
  clock: Clock,
): Promise<readonly { email: string; who: string }[]> {
  if (config.production || !(await isEmptyStore(db))) return []
  const folder = mkdtempSync(join(tmpdir(), 'chiron-demo-'))
  try {
    for (const [name, text] of demoSchool(dayIn(config.timeZone)(clock.now())))
      writeFileSync(join(folder, name), text)
    const roster = new Roster(db, clock)
    await roster.import(await roster.plan(folder, undefined, 'demo school'), { force: false })
    return demoAddresses
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function isEmptyStore(db: Db): Promise<boolean> {
  const row = await db.one(
    `select 1 as something where exists (select 1 from person) or exists (select 1 from registration)
       or exists (select 1 from roster_generation) or exists (select 1 from challenge) or exists (select 1 from event)`,
  )
  return row === undefined
}
