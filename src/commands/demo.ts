/** Loads a small school to sign in to when the service is started for the first time. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { demoAddresses, demoSchool } from '../../demo/school.ts'
import type { Db } from '../db/db.ts'
import { bySystem } from '../lib/by.ts'
import type { Clock } from '../lib/clock.ts'
import { Roster } from '../roster/roster.ts'
import { dayIn } from '../student/classes.ts'

/** Imported like any roster; returns the addresses to try. */
export async function loadDemo(db: Db, timeZone: string, clock: Clock): Promise<typeof demoAddresses> {
  const folder = mkdtempSync(join(tmpdir(), 'chiron-demo-'))
  try {
    for (const [name, text] of demoSchool(dayIn(timeZone)(clock.now())))
      writeFileSync(join(folder, name), text)
    const roster = new Roster(db, clock, { timeZone })
    const plan = await roster.plan(folder, { name: 'demo school' })
    await roster.import(plan, { allow: [], by: bySystem })
    return demoAddresses
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
