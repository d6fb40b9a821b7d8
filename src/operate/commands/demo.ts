/** Loads a small demo school when the service is started for the first time. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DemoAddress, demoAddresses, demoSchool, demoVeterinarian } from '../../../demo/school.ts'
import type { Config } from '../../config.ts'
import { Limits } from '../../identity/limits/limits.ts'
import type { Db } from '../../platform/db/db.ts'
import { bySystem } from '../../platform/lib/by.ts'
import type { Clock } from '../../platform/lib/clock.ts'
import { secretsFrom } from '../../platform/lib/secret.ts'
import { Roster } from '../../school/roster/roster.ts'
import { dayIn } from '../../school/student/classes.ts'
import { Students } from '../../school/student/student.ts'
import { Veterinarians } from '../../school/veterinarian/veterinarian.ts'

/** Returns the addresses to try. */
export async function loadDemo(db: Db, config: Config, clock: Clock): Promise<readonly DemoAddress[]> {
  await importSchool(db, config, clock)
  await registerVeterinarian(db, config, clock)
  return [...demoAddresses, demoVeterinarian]
}

/** Imported like any roster. */
async function importSchool(db: Db, { timeZone }: Config, clock: Clock): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'chiron-demo-'))
  try {
    for (const [name, text] of demoSchool(dayIn(timeZone)(clock.now())))
      writeFileSync(join(folder, name), text)
    const roster = new Roster(db, clock, { timeZone })
    const plan = await roster.plan(folder, { name: 'demo school' })
    await roster.import(plan, { allow: [], by: bySystem })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Registered like any veterinarian; her first code makes the account active. */
async function registerVeterinarian(db: Db, config: Config, clock: Clock): Promise<void> {
  const secrets = secretsFrom(config.secret, config.secretPrevious)
  const students = new Students({ db, clock, timeZone: config.timeZone })
  const veterinarians = new Veterinarians({
    db,
    clock,
    secrets,
    limits: new Limits(db, false, { warn() {} }),
    students,
  })
  const { email, firstname, lastname } = demoVeterinarian
  const nobody = { network: { fingerprint: '', wider: [] }, requestId: null, noteLimit() {} }
  await veterinarians.register({ email, key: email }, { firstname, lastname }, nobody)
}
