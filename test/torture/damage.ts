/** SQLite files that are damaged: named at the start with what to do, and left as they are. */
import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrate } from '../../src/platform/db/migrate.ts'
import { openDb } from '../../src/platform/db/open.ts'
import { systemClock } from '../../src/platform/lib/clock.ts'
import { newFolder, startChiron } from '../support/child.ts'
import { freePort } from '../support/postgres.ts'

const pageBytes = 4_096

/** Each makes a damaged file of a sound one. */
const damages = {
  'without its header': (file) => file.fill(0, 0, 100),
  'with another header': (file) => file.fill(randomBytes(100), 0, 100),
  'with a page of zeros': (file) => file.fill(0, ...pageOf(file)),
  'with a page of rubbish': (file) => file.fill(randomBytes(pageBytes), ...pageOf(file)),
  'cut off': (file) => file.subarray(0, pageOf(file)[0]),
  'cut off in a page': (file) => file.subarray(0, pageOf(file)[0] + randomInt(1, pageBytes)),
  'that is a text': () => Buffer.from('This is no database.\n'.repeat(300)),
} satisfies Record<string, (file: Buffer) => Buffer>

export type Damage = keyof typeof damages
export const damageNames = Object.keys(damages) as Damage[]

/** A page after the first; tables in use are more likely to be at the front. */
const pageOf = (file: Buffer): [from: number, to: number] => {
  const page = randomInt(1, file.length / pageBytes)
  return [page * pageBytes, (page + 1) * pageBytes]
}

export class Damaged {
  readonly #folder = newFolder()
  readonly #sound = join(this.#folder.path, 'sound.db')

  static async make(): Promise<Damaged> {
    const made = new Damaged()
    const db = openDb(`sqlite:${made.#sound}`)
    await migrate(db, systemClock)
    for (let i = 0; i < 300; i++)
      await db.run(
        `insert into person (id, role, status, email, email_key, firstname, lastname, created_at, updated_at)
         values ($1, 'veterinarian', 'active', $2, $2, 'Ada', 'Marsh', 1, 1)`,
        [`person-${i}`, `person-${i}@damage.example`],
      )
    // Everything is in the one file.
    await db.run('pragma wal_checkpoint(truncate)').catch(() => {})
    await db.close()
    return made
  }

  remove(): void {
    this.#folder.remove()
  }

  /** Returns what `chiron serve` says of the file. */
  async refusal(damage: Damage): Promise<string> {
    const path = join(this.#folder.path, 'store', 'chiron.db')
    rmSync(join(path, '..'), { recursive: true, force: true })
    mkdirSync(join(path, '..'))
    copyFileSync(this.#sound, path)
    const before = damages[damage](readFileSync(path))
    writeFileSync(path, before)
    const said = await refusalOf(path)
    assert.ok(readFileSync(path).equals(before), `${damage}: the file is as it was`)
    assert.ok(!existsSync(`${path}-journal`))
    return said
  }
}

/** Starts the service, which must end by itself with one line. */
export async function refusalOf(path: string, start = startChiron): Promise<string> {
  const env = { CHIRON_DATABASE_URL: `sqlite:${path}`, CHIRON_PORT: String(await freePort()) }
  const child = start(['serve'], { env })
  const patience = setTimeout(() => child.kill('SIGKILL'), 20_000)
  const { code } = await child.exited
  clearTimeout(patience)
  const { out, err } = child.output
  assert.equal(code, 5, `${out}${err}`)
  assert.equal(err.trim().split('\n').length, 1, err)
  return err
}
