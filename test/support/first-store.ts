/** A store as the first release left it. */
import { readFileSync } from 'node:fs'
import { openDb } from '../../src/platform/db/open.ts'

export const firstSchema = readFileSync(new URL('../fixtures/first-release.sql', import.meta.url), 'utf8')

/** Fills an empty store. */
export async function makeFirstStore(url: string): Promise<void> {
  const db = openDb(url)
  await db.exclusively(async (exec) => {
    await exec(
      db.engine === 'sqlite' ? firstSchema.replaceAll('/* without rowid */', 'without rowid') : firstSchema,
    )
  })
  await db.close()
}
