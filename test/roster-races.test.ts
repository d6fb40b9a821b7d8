/** Rosters under stress: concurrent, killed, stalled and under load, in any order. */

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import fc from 'fast-check'
import { accounts } from '../src/identity/people/people.ts'
import { eventsOf } from '../src/messages/events/events.ts'
import type { Db } from '../src/platform/db/db.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { systemClock } from '../src/platform/lib/clock.ts'
import { holdCodes, Roster } from '../src/school/roster/roster.ts'
import { studentWithClasses } from '../src/school/student/store.ts'
import { startChiron, startScript } from './support/child.ts'
import { atLength, type Engine, engines } from './support/engines.ts'
import { repeat } from './support/fresh.ts'
import { afterDelta, deltaOf, schoolOf, seenIn, steps } from './support/roster-model.ts'
import {
  addUser,
  bulk,
  change,
  delta,
  drop,
  edited,
  emptySchool,
  newSchool,
  numbers,
  type School,
} from './support/roster-school.ts'
import {
  assertSound,
  contentOf,
  inWorld,
  openWorld,
  publishes,
  rosterOf,
  signInStudent,
  studentsNow,
  visibleRows,
  type World,
  watched,
  writesStudents,
} from './support/roster-world.ts'
import { startService } from './support/service.ts'

const small = newSchool(5)
/** For a school of 250 students. */
const severalBatches = { rowsPerBatch: 200 }
const settle = <T>(work: Promise<T>) =>
  work.then(
    (value) => ({ value, error: null }),
    (error: Error) => ({ value: null, error: error.message }),
  )
const renamed = (school: School, givenName: string) =>
  edited(school, (s) => {
    for (const [id, user] of s.users) s.users.set(id, { ...user, givenName })
  })

suite('Imports at once', { concurrency: true }, () => {
  for (const engine of engines) meetAndDie(engine)
})

function meetAndDie(engine: Engine): void {
  suite(`Imports that meet on ${engine}`, { concurrency: true }, () => {
    test('Of two imports at once one wins and the other is told', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(small))
        const files = ['One', 'Two'].map((name) => bulk(renamed(small, name)))
        const rosters = files.map(() => new Roster(world.db, systemClock))
        const plans = await Promise.all(files.map((path, i) => rosters[i]!.plan(path)))
        const results = await Promise.all(
          plans.map((plan, i) => settle(rosters[i]!.import(plan, { allow: holdCodes, by: byOperator }))),
        )
        const [winner, loser] = results[0]!.error === null ? [0, 1] : [1, 0]
        assert.equal(results[winner]!.error, null)
        assert.match(results[loser]!.error ?? '', /another import is running|changed since the plan/)
        await inWorld(engine, async (other) => {
          await other.import(files[winner]!)
          assert.deepEqual(await contentOf(world.db), await contentOf(other.db))
        })
      }))

    test('An import that stalls and is overtaken writes nothing into the other’s roster', () =>
      inWorld(engine, async (world) => {
        await world.import(bulk(small))
        let stall: (() => void) | undefined
        const stalled = new Promise<void>((resolve) => {
          stall = resolve
        })
        const reached = Promise.withResolvers<void>()
        const slow = new Roster(
          watched(world.db, async (statements) => {
            if (!writesStudents(statements)) return
            reached.resolve()
            await stalled
          }),
          world.clock,
        )
        const slowFile = bulk(
          edited(renamed(small, 'Slow'), (s) => {
            drop(s, 'stu-1')
            addUser(s, 'slow-1', 'student')
          }),
        )
        const slowImport = settle(
          slow.import(await slow.plan(slowFile), { allow: holdCodes, by: byOperator }),
        )
        await reached.promise
        world.clock.advance(60_000)
        await world.import(bulk(renamed(small, 'Quick')))
        const rows = await visibleRows(world.db)
        stall!()
        assert.match((await slowImport).error ?? '', /took over|changed since|under way/)
        assert.deepEqual(await visibleRows(world.db), rows)
        await world.import(bulk(renamed(small, 'Later')))
        assert.equal(Object.keys(await studentsNow(world.db)).join(), 'stu-1,stu-2,stu-3,stu-4,stu-5')
        await assertSound(world.db)
      }))

    for (const [what, fails] of [
      ['fails before it publishes', true],
      ['is undone', false],
    ] as const) {
      test(`Two plans for the same newcomer, of which the first ${what}, make one account`, () =>
        inWorld(engine, async (world) => {
          await world.import(bulk(small))
          const grown = edited(small, (s) => addUser(s, 'new-1', 'student'))
          const file = bulk(grown)
          const second = await world.plan(file)
          const first = new Roster(
            watched(world.db, (statements) => {
              if (fails && publishes(statements)) throw new Error('the power went')
            }),
            world.clock,
          )
          const result = await settle(
            first.import(await first.plan(file), { allow: holdCodes, by: byOperator }),
          )
          assert.equal(result.error, fails ? 'the power went' : null)
          if (!fails) await world.undo()
          // Refused or done; never half.
          const { error } = await settle(world.roster.import(second, { allow: holdCodes, by: byOperator }))
          if (error !== null) await world.import(file)
          await assertSound(world.db)
          await world.import(bulk(renamed(grown, 'Renamed')))
          await assertSound(world.db)
        }))
    }

    test('Somebody whose first import failed is added by the next, not brought back', () =>
      inWorld(engine, async (world) => {
        const failing = new Roster(
          watched(world.db, (statements) => {
            if (publishes(statements)) throw new Error('the power went')
          }),
          world.clock,
        )
        await settle(failing.import(await failing.plan(bulk(small)), { allow: holdCodes, by: byOperator }))
        const plan = await world.plan(bulk(small))
        assert.deepEqual([plan.counts.student.added, plan.counts.student.returning], [5, 0])
        await world.roster.import(plan, { allow: holdCodes, by: byOperator })
        const ids = await studentsNow(world.db)
        const types = (await eventsOf(world.db, ids['stu-1']!)).map(({ type }) => type)
        assert.deepEqual(types, ['student.added'])
      }))
  })

  suite(`Imports that are killed on ${engine}`, { concurrency: 1, ...atLength }, () => {
    const big = newSchool(250, 20)
    const bigger = edited(renamed(big, 'Renamed'), (s) => {
      for (const n of numbers(10)) drop(s, `stu-${n}`)
      for (const n of numbers(10)) addUser(s, `new-${n}`, 'student')
    })
    const [bigPath, biggerPath] = [bulk(big), bulk(bigger)]
    let world: World
    let expected: object
    before(async () => {
      world = await openWorld(engine)
      await world.import(biggerPath)
      expected = await contentOf(world.db)
      await world.undo()
      await world.import(bigPath)
    })
    after(() => world.close())

    /** Kills itself right after its first write of this kind. */
    const killedAfter = async (write: RegExp) => {
      const child = startScript(dyingImport(world.url, biggerPath, write))
      assert.equal((await child.exited).signal, 'SIGKILL', child.output.err)
    }

    for (const [when, write] of [
      ['as soon as it holds the roster', /^update roster_state set leased_by/],
      ['with its first students written', /^insert into student /],
      ['with its first records written', /^insert into roster_record /],
    ] as const) {
      test(`Killed ${when}, an import has not happened, and the next is whole`, async () => {
        const before = await visibleRows(world.db)
        await killedAfter(write)
        assert.deepEqual(await visibleRows(world.db), before)
        // The dead one's lease; the last test waits for it.
        await world.db.run('update roster_state set leased_until = 0')
        const next = new Roster(world.db, world.clock, severalBatches)
        await next.import(await next.plan(biggerPath), { allow: holdCodes, by: byOperator })
        assert.deepEqual(await contentOf(world.db), expected)
        await assertSound(world.db)
        await world.undo()
        assert.deepEqual(await visibleRows(world.db), before)
        const leftovers = await world.db.all('select id from roster_generation where published_at is null')
        assert.deepEqual(leftovers, [])
      })
    }

    test('The next import waits for the lease of a dead one', async () => {
      const before = Date.now()
      await killedAfter(/^insert into student /)
      const lease = await world.db.one<{ leased_until: number }>('select leased_until from roster_state')
      assert.ok(lease!.leased_until >= before + 15_000)
      const endsAt = Date.now() + 3_000
      await world.db.run('update roster_state set leased_until = $1', [endsAt])
      const next = startChiron(
        ['roster', 'import', biggerPath, '--yes', '--allow', holdCodes.join(), '--json'],
        { env: { CHIRON_DATABASE_URL: world.url } },
      )
      assert.equal((await next.exited).code, 0, next.output.err)
      assert.match(next.output.out, /"type":"done"/)
      assert.ok(Date.now() >= endsAt)
      assert.deepEqual(await contentOf(world.db), expected)
    })
  })
}

/** A process that imports a roster until it has done this write. */
function dyingImport(url: string, path: string, write: RegExp): string {
  const from = (file: string) => JSON.stringify(new URL(file, import.meta.url).href)
  return `
    import { openDb } from ${from('../src/platform/db/open.ts')}
    import { byOperator } from ${from('../src/platform/lib/by.ts')}
    import { systemClock } from ${from('../src/platform/lib/clock.ts')}
    import { holdCodes, Roster } from ${from('../src/school/roster/roster.ts')}
    import { watched } from ${from('support/roster-world.ts')}
    let done = false
    const db = watched(openDb(${JSON.stringify(url)}), (statements) => {
      if (done) process.kill(process.pid, 'SIGKILL')
      done = statements.some(({ sql }) => ${write}.test(sql))
    })
    const roster = new Roster(db, systemClock, ${JSON.stringify(severalBatches)})
    await roster.import(await roster.plan(${JSON.stringify(path)}), { allow: holdCodes, by: byOperator })`
}

for (const engine of engines) {
  test(`Students read and sign in while rosters are imported, on ${engine}`, atLength, async () => {
    const service = await startService(engine, { env: { CHIRON_LIMITS: 'off' } })
    try {
      const roster = rosterOf(service)
      const versions = ['One', 'Two'].map((name) => {
        const school = renamed(newSchool(400, 20), name)
        for (const id of school.classes.keys()) change(school.classes, id, { title: name })
        return bulk(school)
      })
      await roster.import(versions[0]!)
      const signed = await repeat(4, (i) => signInStudent(service, `stu-${i + 1}@school.example`))
      let busy = true
      let pages = 0
      const names: string[] = []
      const readers = signed.map(async ({ access }) => {
        while (busy) {
          const reply = await service.request('/student/me/classes', { token: access })
          assert.equal(reply.status, 200, reply.text)
          const { title, teachers } = reply.json.classes[0]
          assert.deepEqual([reply.json.classes.length, teachers[0].firstname], [1, title])
          pages++
        }
      })
      const signing = (async () => {
        for (let n = 5; busy; n++) {
          const { user } = await signInStudent(service, `stu-${n}@school.example`)
          assert.equal(user.groups[0].title, user.firstname, 'the profile is of one roster')
          names.push(user.firstname)
        }
      })()
      for (const turn of [1, 0, 1]) await roster.import(versions[turn]!)
      await roster.undo()
      busy = false
      await Promise.all([...readers, signing])
      assert.ok(pages >= signed.length && names.length > 0)
      for (const name of names) assert.match(name, /^(One|Two)$/)
      assert.ok(!service.log.some((line) => /"level":50/.test(line)))
    } finally {
      await service.stop()
    }
  })

  test(
    `Any sequence of bulk, delta, undo and failure leaves what a model says, on ${engine}`,
    atLength,
    async () => {
      await fc.assert(
        fc.asyncProperty(steps, async (sequence) => {
          await inWorld(engine, async (world) => {
            const past: School[] = [emptySchool()]
            const known = new Map<string, string>()
            for (const step of sequence) {
              world.clock.advance(1_000)
              const now = past.at(-1)!
              if (step.kind === 'undo') {
                if (past.length === 1) continue
                await world.undo()
                past.pop()
              } else if (step.kind === 'crash') {
                const db = watched(world.db, (statements) => {
                  if (publishes(statements)) throw new Error('the power went')
                })
                const roster = new Roster(db, world.clock)
                await settle(
                  roster.import(await roster.plan(bulk(schoolOf(step.wish))), {
                    allow: holdCodes,
                    by: byOperator,
                  }),
                )
              } else {
                const rows = step.kind === 'delta' ? deltaOf(step.students) : {}
                const next = step.kind === 'delta' ? afterDelta(now, rows) : schoolOf(step.wish)
                if ((await world.import(step.kind === 'delta' ? delta(rows) : bulk(next))) !== null)
                  past.push(next)
              }
              assert.deepEqual(await seen(world.db, known), seenIn(past.at(-1)!))
              await assertSound(world.db)
            }
          })
        }),
        { numRuns: engine === 'sqlite' ? 25 : 6 },
      )
    },
  )
}

async function seen(db: Db, known: Map<string, string>): Promise<ReturnType<typeof seenIn>> {
  const result: ReturnType<typeof seenIn> = {}
  for (const [id, personId] of Object.entries(await studentsNow(db))) {
    assert.equal(known.get(id) ?? personId, personId, 'the same account for good')
    known.set(id, personId)
    const [account] = await db.all<{ firstname: string; email: string }>(
      `select * from ${accounts} a where id = $1`,
      [personId],
    )
    const rows = await studentWithClasses(db, personId)
    result[id] = [
      account!.firstname,
      account!.email,
      rows.flatMap(({ document }) => (document === null ? [] : [JSON.parse(document).title])).sort(),
    ]
  }
  return result
}
