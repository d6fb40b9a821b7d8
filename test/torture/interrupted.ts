/**
 * kill -9 in the middle of commands: migration, import, undo, key rotation, backup and restoration. On SQLite each kill
 * is a power cut as well. Afterwards nothing half done is visible, the store is sound, and the next try goes on.
 */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { UsageError } from '../../src/errors.ts'
import { SigningKeys } from '../../src/identity/session/keys.ts'
import { accessTtlMs } from '../../src/identity/session/session.ts'
import { inspectDump, lastBackup } from '../../src/operate/backup/backup.ts'
import type { Db } from '../../src/platform/db/db.ts'
import { knownSchema, migrate } from '../../src/platform/db/migrate.ts'
import { fileOf, openDb } from '../../src/platform/db/open.ts'
import { inspectSqlite } from '../../src/platform/db/sqlite-file.ts'
import { byOperator } from '../../src/platform/lib/by.ts'
import { systemClock } from '../../src/platform/lib/clock.ts'
import { secretsFrom } from '../../src/platform/lib/secret.ts'
import { holdCodes, Roster } from '../../src/school/roster/roster.ts'
import { newFolder, startChiron } from '../support/child.ts'
import { type Engine, newStore } from '../support/engines.ts'
import { newFaults } from '../support/faults.ts'
import { makeFirstStore } from '../support/first-store.ts'
import { installedPostgres, type PostgresServer, startPostgres } from '../support/postgres.ts'
import { bulk, drop, edited, newSchool, numbers } from '../support/roster-school.ts'
import { assertSound, contentOf } from '../support/roster-world.ts'
import { eventually } from '../support/wait.ts'
import { checkSound } from './crashes.ts'

const secret = 'interrupted-0b7d51c3e9a84f62'.repeat(2)

export const interruptions = ['migration', 'import', 'undo', 'rotation', 'backup', 'restoration'] as const
type Interruption = (typeof interruptions)[number]

export class Interrupter {
  readonly #engine: Engine
  readonly #server: PostgresServer | null
  readonly #tools: string
  /** How many steps each command took when it was left alone; at first a guess. */
  readonly #steps: Record<Interruption, number> = {
    migration: 120,
    import: 100,
    undo: 40,
    rotation: 20,
    backup: 60,
    restoration: 90,
  }
  #stores = 0
  /** Kills, by command, and commands that were done before the moment had come. */
  readonly counts: Record<Interruption | 'doneBefore', number> = {
    migration: 0,
    import: 0,
    undo: 0,
    rotation: 0,
    backup: 0,
    restoration: 0,
    doneBefore: 0,
  }

  private constructor(engine: Engine, server: PostgresServer | null, tools: string) {
    this.#engine = engine
    this.#server = server
    this.#tools = tools
  }

  /** PostgreSQL is the machine's own, which has pg_dump. */
  static async start(engine: Engine): Promise<Interrupter> {
    if (engine === 'sqlite') return new Interrupter(engine, null, '')
    const installed = installedPostgres()
    return new Interrupter(
      engine,
      await startPostgres(['fsync=off'], { installed }),
      `${join(installed, 'bin')}:`,
    )
  }

  async stop(): Promise<void> {
    await this.#server?.remove()
  }

  /** Kills each command once. */
  async round(): Promise<void> {
    await this.#inStore((url, folder) => this.#migration(url, folder))
    await this.#inStore(async (url, folder) => {
      await within(url, (db) => migrate(db, systemClock))
      await this.#roster(url, folder)
      await this.#rotation(url, folder)
      await this.#backup(url, folder)
    })
  }

  /** The folder has the store, if that is a file, and the backups. */
  async #inStore(work: (url: string, folder: string) => Promise<void>): Promise<void> {
    if (!this.#server) {
      const store = await newStore('sqlite')
      return work(store.url, dirname(fileOf(store.url)!)).finally(store.remove)
    }
    const name = `interrupted_${this.#stores++}`
    await asked(this.#server.url('postgres'), `create database ${name}`)
    const folder = newFolder()
    await work(this.#server.url(name), folder.path).finally(folder.remove)
  }

  async #migration(url: string, folder: string): Promise<void> {
    await makeFirstStore(url)
    const people = await within(url, peopleIn)
    await this.#killed('migration', url, folder, ['migrate'])
    for (const name of readdirSync(folder).filter((one) => /\.before-\d{4}$/.test(one)))
      assert.deepEqual(inspectSqlite(join(folder, name)).versions.length, 5)
    await this.#left('migration', url, folder, ['migrate'])
    await within(url, async (db) => {
      assert.deepEqual(await peopleIn(db), people)
      const applied = await db.all('select version from migration order by version')
      assert.equal(applied.at(-1)!.version, knownSchema(this.#engine))
    })
  }

  async #roster(url: string, folder: string): Promise<void> {
    const importing = ['roster', 'import', after, '--yes', '--allow', holdCodes.join()]
    const undoing = ['roster', 'undo', '--yes']
    const [old, next] = await within(url, async (db) => {
      const roster = new Roster(db, systemClock)
      const load = async (path: string) =>
        roster.import(await roster.plan(path), { allow: holdCodes, by: byOperator })
      await load(before)
      const contents = [await contentOf(db)]
      await load(after)
      contents.push(await contentOf(db))
      await roster.undo(await roster.planUndo(), { allow: holdCodes, by: byOperator })
      return contents as [object, object]
    })
    for (const [what, args, from, to] of [
      ['import', importing, old, next],
      ['undo', undoing, next, old],
    ] as const) {
      await this.#killed(what, url, folder, args)
      const isDone = await within(url, async (db) => {
        await assertSound(db)
        // The dead one's lease; that it runs out is tested elsewhere.
        await db.run('update roster_state set leased_until = 0')
        const isNext = JSON.stringify(await contentOf(db)) === JSON.stringify(to)
        if (!isNext) assert.deepEqual(await contentOf(db), from)
        return isNext
      })
      if (!isDone) await this.#left(what, url, folder, args)
      await within(url, async (db) => {
        assert.deepEqual(await contentOf(db), to)
        const half = await db.all('select id from roster_generation where published_at is null')
        if (!isDone) assert.deepEqual(half, [], 'nothing half done is left')
      })
    }
  }

  async #rotation(url: string, folder: string): Promise<void> {
    const deps = { clock: systemClock, secrets: secretsFrom(secret, null) }
    await within(url, (db) => new SigningKeys({ db, ...deps }, accessTtlMs).open())
    const counted = () =>
      within(url, async (db) => {
        const keys = await new SigningKeys({ db, ...deps }, accessTtlMs).list()
        const rotated = await db.all("select id from event where type = 'key.rotated'")
        assert.equal(keys.length, rotated.length + 1, 'each new key is an event')
        return keys.length
      })
    await this.#killed('rotation', url, folder, ['keys', 'rotate'])
    const keys = await counted()
    await this.#left('rotation', url, folder, ['keys', 'rotate'])
    assert.equal(await counted(), keys + 1)
  }

  async #backup(url: string, folder: string): Promise<void> {
    const file = join(folder, 'a-backup')
    const people = await within(url, peopleIn)
    await this.#killed('backup', url, folder, ['backup', file])
    if (existsSync(file)) await this.#inspect(file)
    else assert.equal(await within(url, lastBackup), null, 'what was not made is not noted as made')
    const draft = `${file}.part`
    if (existsSync(draft)) await this.#inspect(draft).catch((error) => assert.ok(error instanceof UsageError))
    await this.#left('backup', url, folder, ['backup', file, '--yes'])
    assert.ok(!existsSync(draft), 'the next backup takes the draft away')

    await within(url, (db) =>
      db.run(
        `insert into person (id, role, status, email, email_key, firstname, lastname, created_at, updated_at)
         values ('after', 'veterinarian', 'active', 'after@vets.example', 'after@vets.example', 'Ada', 'Marsh', 1, 1)`,
      ),
    )
    const later = await within(url, peopleIn)
    await this.#killed('restoration', url, folder, ['restore', file, '--yes'])
    if (this.#engine === 'sqlite') {
      const now = JSON.stringify(await within(url, peopleIn))
      assert.ok(
        [people, later].some((one) => JSON.stringify(one) === now),
        'the old store or the restored one',
      )
    }
    await this.#left('restoration', url, folder, ['restore', file, '--yes'])
    assert.deepEqual(await within(url, peopleIn), people)
  }

  async #inspect(file: string) {
    if (this.#engine === 'sqlite') return inspectSqlite(file)
    const path = process.env.PATH
    process.env.PATH = `${this.#tools}${path}`
    return inspectDump(file).finally(() => {
      process.env.PATH = path
    })
  }

  #start(url: string, args: readonly string[], env: Record<string, string> = {}) {
    return startChiron([...args], {
      env: {
        CHIRON_DATABASE_URL: url,
        CHIRON_SECRET: secret,
        PATH: `${this.#tools}${process.env.PATH}`,
        ...env,
      },
    })
  }

  async #killed(what: Interruption, url: string, folder: string, args: readonly string[]): Promise<void> {
    const faults = newFaults(folder)
    try {
      faults.killAt(randomInt(1, this.#steps[what] + 1))
      const child = this.#start(url, args, faults.begin())
      const { code, signal } = await child.exited
      if (signal === 'SIGKILL') {
        this.counts[what]++
        if (this.#engine === 'sqlite') faults.losePower()
        else await this.#serverIsDone(url)
      } else {
        this.counts.doneBefore++
        assert.equal(code, 0, child.output.err)
        this.#steps[what] = faults.steps()
      }
    } finally {
      faults.remove()
    }
    const file = fileOf(url)
    if (file !== null) checkSound(file)
  }

  async #left(what: Interruption, url: string, folder: string, args: readonly string[]): Promise<void> {
    const faults = newFaults(folder)
    const child = this.#start(url, args, faults.begin())
    const { code } = await child.exited
    this.#steps[what] = faults.steps()
    faults.remove()
    assert.equal(code, 0, `${args.join(' ')}: ${child.output.err}`)
  }

  /** A server goes on for a moment with what a dead client had asked for. */
  async #serverIsDone(url: string): Promise<void> {
    await eventually('the server has noticed', async () => {
      const others = await asked(
        url,
        'select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      )
      return others.length === 0
    })
  }
}

const school = newSchool(120, 6)
const before = bulk(school)
const after = bulk(
  edited(school, (one) => {
    for (const n of numbers(20)) drop(one, `stu-${n}`)
  }),
)

async function within<T>(url: string, work: (db: Db) => Promise<T>): Promise<T> {
  const db = openDb(url)
  return work(db).finally(() => db.close())
}

const peopleIn = (db: Db) => db.all('select id, role, status, email from person order by id')

async function asked(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}
