/** `chiron backup` and `chiron restore`, with the service running, and what a restored store still accepts. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { lastBackup } from '../src/operate/backup/backup.ts'
import { openDb } from '../src/platform/db/open.ts'
import { libpqEnvironment } from '../src/platform/lib/postgres-url.ts'
import { newFolder, startChiron } from './support/child.ts'
import { atLength, type Engine, engines, newStore, onPostgres, type Store } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { installedPostgres, type PostgresServer, startPostgres } from './support/postgres.ts'
import { outcome, type Service, type SignedIn, startService } from './support/service.ts'

const folder = newFolder()
let server: PostgresServer | undefined
let tools = ''
before(async () => {
  if (!engines.includes('postgres')) return
  const installed = installedPostgres()
  tools = join(installed, 'bin')
  server = await startPostgres(['fsync=off'], { installed })
})
after(async () => {
  await server?.remove()
  folder.remove()
})

let count = 0
const newFile = (name = 'backup') => join(folder.path, `${name}-${count++}`)

async function emptyStore(engine: Engine): Promise<Store> {
  if (engine === 'sqlite') return newStore('sqlite')
  const name = `backup_${count++}`
  const db = openDb(server!.url('postgres'))
  await db.run(`create database ${name}`)
  await db.close()
  return { url: server!.url(name), remove: async () => {} }
}

async function run(databaseUrl: string, args: string[], env: Record<string, string> = {}) {
  const child = startChiron(args, {
    cwd: folder.path,
    env: { CHIRON_DATABASE_URL: databaseUrl, PATH: `${tools}:${process.env.PATH}`, ...env },
  })
  const { code } = await child.exited
  return { code, out: child.output.out, err: child.output.err }
}

async function succeeds(databaseUrl: string, args: string[]): Promise<string> {
  const { code, out, err } = await run(databaseUrl, args)
  assert.equal(code, 0, `${args.join(' ')}: ${err}`)
  return out
}

async function fails(databaseUrl: string, args: string[], why: RegExp, env = {}): Promise<void> {
  const { code, err } = await run(databaseUrl, args, env)
  assert.equal(code, 1, err)
  assert.match(err, /^chiron: [^\n]+\n$/)
  assert.match(err, why)
}

const refresh = (service: Service, token: string) =>
  service.post('/session/refresh', { refresh_token: token }, freshNetwork())

/** What an operator would do without this program. */
function dump(url: string, to: string): void {
  const env = { ...process.env, ...libpqEnvironment(url) }
  const dumped = spawnSync(join(tools, 'pg_dump'), ['--format=custom', `--file=${to}`], { env })
  assert.equal(dumped.status, 0, String(dumped.stderr))
}

for (const engine of engines) {
  suite(`Backups on ${engine}`, atLength, () => {
    let service: Service
    let store: Store
    before(async () => {
      store = await emptyStore(engine)
      // The slower a backup, the more people sign in meanwhile.
      service = await startService(engine, { databaseUrl: store.url, env: { CHIRON_LIMITS: 'off' } })
    })
    after(async () => {
      await service.stop()
      await store.remove()
    })

    /** Restores into a new store and starts a service on it. */
    const restoredElsewhere = async (file: string, work: (copy: Service) => Promise<void>) => {
      const other = await emptyStore(engine)
      await succeeds(other.url, ['restore', file])
      const copy = await startService(engine, { databaseUrl: other.url, clock: service.clock })
      try {
        await work(copy)
      } finally {
        await copy.stop()
        await other.remove()
      }
    }

    test('Whatever was acknowledged before a backup began is in it, while people go on signing in', async () => {
      const known: SignedIn[] = []
      let stopping = false
      const signInMany = async () => {
        while (!stopping) known.push(await service.signIn(freshAddress(), freshNetwork()))
      }
      const load = [signInMany(), signInMany(), signInMany(), signInMany()]
      while (known.length < 20) await service.signIn(freshAddress(), freshNetwork())
      const acknowledged = [...known]
      const file = newFile()
      await succeeds(service.databaseUrl, ['backup', file])
      stopping = true
      await Promise.all(load)
      assert.ok(known.length > acknowledged.length, 'nobody signed in during the backup')

      const row = (from: Service, sql: string, id: string) => from.rows<object>(sql, [id])
      await restoredElsewhere(file, async (copy) => {
        for (const { userId, sessionId } of acknowledged) {
          const person = 'select id, role, status, email, firstname, lastname from person where id = $1'
          const session = 'select id, person_id, started_at, refresh_seq from session where id = $1'
          const event = "select id, type, person_id, at from event where id = 'started.' || $1"
          assert.deepEqual(await row(copy, person, userId), await row(service, person, userId))
          assert.deepEqual(await row(copy, session, sessionId), await row(service, session, sessionId))
          assert.deepEqual(await row(copy, event, sessionId), await row(service, event, sessionId))
        }
      })
    })

    test('A backup is for its owner’s eyes, appears whole, and is noted in the store', async () => {
      const file = newFile()
      const began = Date.now()
      const out = await succeeds(service.databaseUrl, ['backup', file, '--json'])
      const said = JSON.parse(out)
      assert.deepEqual([said.file, said.engine, said.bytes], [file, engine, statSync(file).size])
      assert.equal(statSync(file).mode & 0o777, 0o600)
      assert.deepEqual(
        readdirSync(folder.path).filter((name) => name.includes('.part')),
        [],
      )
      const last = await lastBackup(service.app.parts.db)
      assert.ok(last !== null && last >= began && last <= Date.now())
    })

    test('A file that exists is overwritten only with --yes', async () => {
      const file = newFile()
      writeFileSync(file, 'mine')
      await fails(service.databaseUrl, ['backup', file], /exists: choose another name, or add --yes/)
      assert.equal(readFileSync(file, 'utf8'), 'mine')
      await succeeds(service.databaseUrl, ['backup', file, '--yes'])
      assert.ok(statSync(file).size > 1_000)
      assert.equal(statSync(file).mode & 0o777, 0o600)
    })

    test('A backup in the second of another one gets a name of its own', async () => {
      const into = join(folder.path, `${engine}-crowded`)
      mkdirSync(into)
      const ending = engine === 'sqlite' ? 'db' : 'dump'
      const names = Array.from({ length: 120 }, (_, i) => {
        const at = new Date(Date.now() + i * 1000).toISOString().slice(0, 19).replaceAll(':', '-')
        return `chiron-${at}Z.${ending}`
      })
      for (const name of names) writeFileSync(join(into, name), 'another')
      await succeeds(service.databaseUrl, ['backup', '--to', into, '--keep', '200'])
      assert.equal(readdirSync(into).length, names.length + 1)
    })

    test('A folder keeps the newest backups, and leaves other files alone', async () => {
      const into = newFile('folder')
      mkdirSync(into)
      const end = engine === 'sqlite' ? 'db' : 'dump'
      const old = ['2026-01-03', '2026-01-02', '2026-01-01'].map((day) => `chiron-${day}T03-00-00Z.${end}`)
      for (const name of [...old, 'chiron.db', 'notes.txt']) writeFileSync(join(into, name), 'x')
      const said = JSON.parse(
        await succeeds(service.databaseUrl, ['backup', '--to', into, '--keep', '2', '--json']),
      )
      assert.deepEqual(said.removed, [old[2], old[1]])
      const left = readdirSync(into).sort()
      assert.equal(left.length, 4)
      for (const name of [old[0]!, 'chiron.db', 'notes.txt']) assert.ok(left.includes(name), name)
      assert.equal(statSync(said.file).mode & 0o777, 0o600)
    })

    test('A missing or repeated destination is refused in one line', async () => {
      const { databaseUrl } = service
      await fails(databaseUrl, ['backup'], /give either a file/)
      await fails(databaseUrl, ['backup', 'a', '--to', 'b'], /give either a file/)
      await fails(databaseUrl, ['backup', 'a', '--keep', '3'], /--keep needs --to/)
      await fails(databaseUrl, ['backup', '--to', 'b', '--keep', 'none'], /--keep must be a whole number/)
      await fails(databaseUrl, ['backup', join(folder.path, 'none', 'a')], /no such file or directory/)
    })

    test('A store that is in use is not replaced', async () => {
      const file = newFile()
      await succeeds(service.databaseUrl, ['backup', file])
      await fails(service.databaseUrl, ['restore', file, '--yes'], /in use: stop every process/)
      assert.equal((await service.request('/health/ready')).status, 200)
    })

    test('A restored store accepts no code, session or token that it knew, and people sign in again', async () => {
      const email = freshAddress()
      const { access, refresh: first, sessionId } = await service.signIn(email, freshNetwork())
      const open = await service.code(email, freshNetwork())
      const answered = await service.code(email, freshNetwork())
      const file = newFile()
      await succeeds(service.databaseUrl, ['backup', file])
      const answer = (one: { code: number; sessionId: string }) => ({
        email,
        otp_code: one.code,
        sessionId: one.sessionId,
      })
      const used = await service.post('/veterinarian/validate-otp', answer(answered), freshNetwork())
      assert.equal(used.status, 200)
      const second = (await refresh(service, first)).json.refresh_token
      const later = await service.signIn(email, freshNetwork())

      await restoredElsewhere(file, async (copy) => {
        const ended = [401, 'session-ended']
        // Used up since the backup, issued since the backup, and of a session started since the backup.
        for (const token of [first, second, used.json.refresh_token, later.refresh])
          assert.deepEqual(outcome(await refresh(copy, token)), ended)
        assert.deepEqual(outcome(await copy.request('/veterinarian/me', { token: access })), [
          401,
          'invalid-token',
        ])
        // One code was used since the backup, the other was not; the store cannot tell.
        for (const one of [open, answered])
          assert.deepEqual(
            outcome(await copy.post('/veterinarian/validate-otp', answer(one), freshNetwork())),
            [401, 'otp-unusable'],
          )
        const [row] = await copy.rows('select end_reason from session where id = $1', [sessionId])
        assert.deepEqual({ ...(row as object) }, { end_reason: 'revoked' })
        const event = await copy.rows<{ actor: string }>('select actor from event where id = $1', [
          `ended.${sessionId}`,
        ])
        assert.deepEqual(
          event.map(({ actor }) => actor),
          ['operator'],
        )
        const fresh = await copy.signIn(email, freshNetwork())
        assert.equal((await copy.request('/veterinarian/me', { token: fresh.access })).status, 200)
        assert.equal((await refresh(copy, fresh.refresh)).status, 200)
      })
    })

    test('Events after a restoration have numbers that no reader has seen', async () => {
      await service.signIn(freshAddress(), freshNetwork())
      const file = newFile()
      await succeeds(service.databaseUrl, ['backup', file])
      await service.signIn(freshAddress(), freshNetwork())
      const { readFeed } = await import('../src/messages/events/events.ts')
      const seen = (await readFeed(service.app.parts.db, { limit: 10_000 })).at(-1)!.number
      await restoredElsewhere(file, async (copy) => {
        const next = await readFeed(copy.app.parts.db, { after: seen, limit: 10_000 })
        const all = await readFeed(copy.app.parts.db, { limit: 10_000 })
        await copy.signIn(freshAddress(), freshNetwork())
        const newest = await readFeed(copy.app.parts.db, { after: all.at(-1)!.number, limit: 10_000 })
        assert.ok(newest.some(({ type }) => type === 'session.started'))
        for (const { number } of [...next, ...newest]) assert.ok(number > seen)
      })
    })

    test('A restored store knows its backup, and signs with a new key', async () => {
      const file = newFile()
      await succeeds(service.databaseUrl, ['backup', file])
      const made = await lastBackup(service.app.parts.db)
      await restoredElsewhere(file, async (copy) => {
        assert.equal(await lastBackup(copy.app.parts.db), made)
        const kids = async (from: Service) =>
          (await from.request('/.well-known/jwks.json')).json.keys.map(({ kid }: { kid: string }) => kid)
        const [before, now] = [await kids(service), await kids(copy)]
        assert.equal(now.length, 1)
        assert.ok(!before.includes(now[0]))
      })
    })

    test('A dump that this program did not make has no time of its own', async () => {
      const file = newFile()
      await succeeds(service.databaseUrl, ['backup', file])
      const other = await emptyStore(engine)
      assert.match(await succeeds(other.url, ['restore', file]), /made 20\d\d-.* by version \d/)
      const raw = newFile()
      if (engine === 'sqlite') copyFileSync(other.url.slice('sqlite:'.length), raw)
      else dump(other.url, raw)
      const third = await emptyStore(engine)
      assert.match(await succeeds(third.url, ['restore', raw]), /not made by "chiron backup"/)
      await Promise.all([other.remove(), third.remove()])
    })

    test('An existing store is replaced only with --yes, and kept aside', async () => {
      const file = newFile()
      await service.signIn(freshAddress(), freshNetwork())
      await succeeds(service.databaseUrl, ['backup', file])
      const other = await emptyStore(engine)
      await succeeds(other.url, ['restore', file])
      const db = openDb(other.url)
      await db.run("update person set lastname = 'Since'")
      await db.close()
      await fails(
        other.url,
        ['restore', file],
        /holds \d+ people, and its last event .*; add --yes to replace it with/,
      )
      const nameOfAll = async (from: string) => {
        const handle = openDb(other.url)
        const rows = await handle.all<{ lastname: string }>(`select distinct lastname from ${from}`)
        await handle.close()
        return rows.map(({ lastname }) => lastname)
      }
      assert.deepEqual(await nameOfAll('person'), ['Since'])
      const said = await succeeds(other.url, ['restore', file, '--yes'])
      assert.match(said, /The previous store is kept as/)
      assert.deepEqual(await nameOfAll('person'), ['Marsh'])
      if (engine === 'postgres') assert.deepEqual(await nameOfAll('replaced.person'), ['Since'])
      else {
        const kept = `${other.url.slice('sqlite:'.length)}.replaced`
        assert.equal(statSync(kept).mode & 0o777, 0o600)
        const handle = openDb(`sqlite:${kept}`)
        assert.equal(
          (await handle.one<{ lastname: string }>('select lastname from person'))!.lastname,
          'Since',
        )
        await handle.close()
      }
      // A backup of the restored store is without what was kept aside.
      const again = newFile()
      await succeeds(other.url, ['backup', again])
      await restoredElsewhere(again, async (copy) => {
        assert.equal((await copy.rows("select 1 as x from person where lastname = 'Since'")).length, 0)
      })
      await other.remove()
    })

    test('A damaged file, one of another kind and one of a newer schema are refused, and the store stays', async () => {
      const file = newFile()
      await succeeds(service.databaseUrl, ['backup', file])
      const other = await emptyStore(engine)
      await succeeds(other.url, ['restore', file])
      const refuse = (name: string, why: RegExp) => fails(other.url, ['restore', name, '--yes'], why)

      const cut = newFile()
      copyFileSync(file, cut)
      truncateSync(cut, Math.floor(statSync(file).size / 2))
      await refuse(cut, /is damaged: /)
      const text = newFile()
      writeFileSync(text, 'no backup at all, but longer than sixteen bytes')
      await refuse(text, /is not a backup of Chiron/)
      const empty = newFile()
      writeFileSync(empty, '')
      await refuse(empty, /is not a backup of Chiron/)
      await refuse(newFile(), /there is no file/)
      await refuse(folder.path, /there is no file/)

      const handle = openDb(other.url)
      await handle.run("insert into migration (version, name, applied_at) values (9998, 'of_tomorrow', 1)")
      await handle.run('create table unknown_today (id text)')
      await handle.close()
      const newer = newFile()
      await succeeds(other.url, ['backup', newer])
      assert.ok(readFileSync(newer, 'latin1').includes('unknown_today'), 'the backup is complete')
      await fails(
        service.databaseUrl,
        ['restore', newer, '--yes'],
        /the store is at schema 9998, this program supports/,
      )
      await other.remove()
    })
  })
}

suite('Backups on SQLite alone', atLength, () => {
  test('Neither command takes the store for a backup', async () => {
    const store = await newStore('sqlite')
    const path = store.url.slice('sqlite:'.length)
    await succeeds(store.url, ['migrate'])
    await fails(store.url, ['backup', path, '--yes'], /is the store itself/)
    await fails(store.url, ['restore', path, '--yes'], /is the store itself/)
    await store.remove()
  })

  test('An SQLite file of another program is refused', async () => {
    const store = await newStore('sqlite')
    const foreign = newFile()
    const handle = openDb(`sqlite:${foreign}`)
    await handle.run('create table recipe (name text)')
    await handle.close()
    await fails(store.url, ['restore', foreign], /is not a Chiron store/)
    await store.remove()
  })

  test('A damaged store is replaced, and kept aside with its log', async () => {
    const good = await newStore('sqlite')
    await succeeds(good.url, ['migrate'])
    const file = newFile()
    await succeeds(good.url, ['backup', file])
    const path = good.url.slice('sqlite:'.length)
    writeFileSync(path, 'SQLite format 3\0 and then nothing that makes sense'.padEnd(9_000, 'x'))
    await fails(good.url, ['restore', file], /cannot be read; add --yes/)
    await succeeds(good.url, ['restore', file, '--yes'])
    assert.ok(existsSync(`${path}.replaced`))
    await succeeds(good.url, ['staff', 'list'])
    await good.remove()
  })

  test('A missing store cannot be backed up, and is not created by the attempt', async () => {
    const store = await newStore('sqlite')
    await fails(store.url, ['backup', newFile()], /there is no store at/)
    assert.equal(existsSync(store.url.slice('sqlite:'.length)), false)
    await store.remove()
  })

  test('A backup of an older schema is brought up to date when it is restored', async () => {
    const store = await newStore('sqlite')
    await succeeds(store.url, ['migrate'])
    const db = openDb(store.url)
    for (const sql of [
      'drop table backup',
      'drop table lease',
      'drop index person_closed',
      "delete from migration where name = '0013_keeping'",
    ])
      await db.run(sql)
    await db.close()
    const file = newFile()
    await succeeds(store.url, ['backup', file])
    const other = await newStore('sqlite')
    const said = await succeeds(other.url, ['restore', file])
    assert.match(said, /not made by "chiron backup"/)
    await succeeds(other.url, ['staff', 'list'])
    await Promise.all([store.remove(), other.remove()])
  })
})

suite('Backups on PostgreSQL alone', onPostgres, () => {
  /** A program of this name that records how it was called. */
  const stub = (name: string, script: string) => {
    const bin = newFile('bin')
    mkdirSync(bin)
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(bin, name), 0o755)
    return bin
  }

  test('Without pg_dump the error says what to do', async () => {
    const store = await emptyStore('postgres')
    await succeeds(store.url, ['migrate'])
    const file = newFile()
    await fails(store.url, ['backup', file], /pg_dump is not installed here: install/, { PATH: newFile() })
    assert.equal(existsSync(file), false)
  })

  test('A pg_dump that is older than the server says so in plain words', async () => {
    const store = await emptyStore('postgres')
    await succeeds(store.url, ['migrate'])
    const bin = stub(
      'pg_dump',
      'echo "pg_dump: error: aborting because of server version mismatch" >&2; exit 1',
    )
    await fails(store.url, ['backup', newFile()], /pg_dump is older than the server: install/, {
      PATH: `${bin}:${process.env.PATH}`,
    })
    const db = openDb(store.url)
    assert.equal(await lastBackup(db), null)
    await db.close()
  })

  test('The password is in no command line', async () => {
    const store = await emptyStore('postgres')
    await succeeds(store.url, ['migrate'])
    const told = newFile('told')
    const bin = stub('pg_dump', `echo "args: $@; password: $PGPASSWORD" > ${told}; exit 1`)
    const url = store.url.replace('chiron@', 'chiron:pass%20word@')
    await fails(url, ['backup', newFile()], /pg_dump failed/, { PATH: `${bin}:${process.env.PATH}` })
    assert.match(readFileSync(told, 'utf8'), /^args: (?!.*pass word.*;).*; password: pass word\n$/)
  })

  test('An interrupted restoration keeps the service from starting, and can be made again', async () => {
    const store = await emptyStore('postgres')
    const service = await startService('postgres', { databaseUrl: store.url })
    await service.signIn(freshAddress(), freshNetwork())
    const file = newFile()
    await succeeds(store.url, ['backup', file])
    await service.stop()
    const db = openDb(store.url)
    await db.run('create table restoring (one integer)')
    await db.close()
    await fails(store.url, ['migrate'], /restoring a backup was interrupted: run chiron restore again/)
    await fails(store.url, ['serve'], /restoring a backup was interrupted/)
    await succeeds(store.url, ['restore', file, '--yes'])
    assert.match(await succeeds(store.url, ['people', 'find', 'marsh']), /active/)
  })

  test('A restoration that fails half-way puts the old store back', async () => {
    const store = await emptyStore('postgres')
    await succeeds(store.url, ['staff', 'add', 'ada@example.org', '--name', 'Ada Marsh', '--may', 'admin'])
    const file = newFile()
    await succeeds(store.url, ['backup', file])
    const real = join(tools, 'pg_restore')
    const bin = stub(
      'pg_restore',
      `case "$*" in *--dbname*) echo "pg_restore: error: no more" >&2; exit 1;; *) exec ${real} "$@";; esac`,
    )
    await fails(store.url, ['restore', file, '--yes'], /pg_restore failed: no more/, {
      PATH: `${bin}:${process.env.PATH}`,
    })
    assert.match(await succeeds(store.url, ['staff', 'list']), /ada@example\.org/)
  })

  test('An address of the driver becomes libpq’s, with its rules for TLS', () => {
    assert.deepEqual(libpqEnvironment('postgres://u:p%40@a:1,[2001:db8::1]/x?sslmode=require'), {
      PGHOST: 'a,2001:db8::1',
      PGPORT: '1,5432',
      PGUSER: 'u',
      PGPASSWORD: 'p@',
      PGDATABASE: 'x',
      PGSSLMODE: 'verify-full',
      PGSSLROOTCERT: 'system',
      PGTARGETSESSIONATTRS: 'read-write',
    })
    assert.equal(libpqEnvironment('postgres://u@a/x?connect_timeout=10').PGCONNECT_TIMEOUT, '10')
    const own = libpqEnvironment(
      'postgres://u@a/x?sslmode=verify-full&sslrootcert=/ca.pem&sslcert=/c&sslkey=/k',
    )
    assert.deepEqual([own.PGSSLROOTCERT, own.PGSSLCERT, own.PGSSLKEY], ['/ca.pem', '/c', '/k'])
    assert.equal(libpqEnvironment('postgres://u@a/x?sslmode=no-verify').PGSSLMODE, 'require')
    assert.equal(
      libpqEnvironment('postgres://u@a/x?sslmode=require&uselibpqcompat=true').PGSSLMODE,
      'require',
    )
    assert.equal(libpqEnvironment('postgres://u@%2Fvar%2Frun/x').PGHOST, '/var/run')
  })
})
