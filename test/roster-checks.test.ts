import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { demoSchool } from '../demo/school.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { openDb } from '../src/platform/db/open.ts'
import { Roster } from '../src/school/roster/roster.ts'
import { newStore } from './support/engines.ts'
import { TestClock } from './support/service.ts'

test('A file whose header cannot be read is one error, not one for every row that names what is in it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'chiron-checks-'))
  const store = await newStore('sqlite')
  const clock = new TestClock()
  const db = openDb(store.url)
  t.after(async () => {
    await db.close()
    await store.remove()
    rmSync(folder, { recursive: true, force: true })
  })
  await migrate(db, clock)
  for (const [name, text] of demoSchool('2026-11-15')) {
    writeFileSync(join(folder, name), name === 'users.csv' ? text.replace('familyName', 'familyNam') : text)
  }
  const { findings } = await new Roster(db, clock).plan(folder)
  const errors = findings.filter(({ severity }) => severity === 'error')
  assert.deepEqual(
    errors.map(({ code, file, line, column }) => [code, file, line, column]),
    [['unknown-header', 'users.csv', 1, 'familyNam']],
  )
})
