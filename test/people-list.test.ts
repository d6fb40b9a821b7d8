/** The list of people that staff read: its filters, its orders and its pages. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { accounts } from '../src/identity/people/people.ts'
import { sorts } from '../src/operate/support/support.ts'
import { statement } from '../src/platform/db/db.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { holdCodes } from '../src/school/roster/roster.ts'
import { atLength, engines } from './support/engines.ts'
import { addUser, bulk, change, drop, edited, emptySchool, type School } from './support/roster-school.ts'
import { rosterOf, studentCode } from './support/roster-world.ts'
import { type Service, type SignedIn, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'

interface Found {
  readonly userId: string
  readonly role: string
  readonly status: string
  readonly firstname: string | null
  readonly lastname: string | null
  readonly email: string | null
  readonly studentNumber: string | null
  readonly year: number | null
  readonly createdAt: string
  readonly updatedAt: string
}
type Query = Record<string, string>

const students: [id: string, given: string, family: string, grades: string][] = [
  ['ines', 'Inés', 'Álvarez', '1'],
  ['omar', 'Omar', 'Çelik', '1'],
  ['zoe', 'Zoë', 'Abel', '4'],
  ['yara', 'Yara', 'Zuse', '4'],
  ['off', 'Nadia', 'Mertens', '2'],
]

function firstSchool(): School {
  const school = emptySchool()
  for (const [id, givenName, familyName, grades] of students)
    addUser(school, id, 'student', { givenName, familyName, grades, identifier: `S-${id}` })
  change(school.users, 'off', { enabledUser: 'false' })
  return school
}

for (const engine of engines) {
  suite(`The list of people on ${engine}`, () => {
    let service: Service
    let staff: SignedIn
    let school = firstSchool()
    before(async () => {
      service = await startService(engine, { env: { CHIRON_LIMITS: 'off' } })
      await rosterOf(service).import(bulk(school))
      for (const [firstname, lastname] of [
        ['Bram', 'Bakker'],
        ['Ada', 'Marsh'],
        ['Ada', 'Øster'],
      ] as const) {
        service.clock.advance(1_000)
        await service.register(`${lastname === 'Øster' ? 'oster' : lastname}@clinic.example`, {
          firstname,
          lastname,
        })
      }
      await service.app.parts.veterinarians.settle()
      staff = await newStaff(service, 'support')
    })
    after(() => service.stop())

    const page = async (
      query: Query,
    ): Promise<{ people: Found[]; next: string | null; similar: boolean }> => {
      const path = `/staff/people?${new URLSearchParams(query)}`
      const reply = await service.request(path, { token: staff.access })
      assert.equal(reply.status, 200, reply.text)
      return reply.json
    }
    const found = async (query: Query) => (await page(query)).people
    /** Everybody, page by page. `between` runs after each page. */
    const pages = async (query: Query, limit: number, between = async () => {}) => {
      const people: Found[] = []
      for (let after: string | null = null; ; ) {
        const { people: some, next } = await page({
          ...query,
          limit: String(limit),
          ...(after !== null && { after }),
        })
        assert.ok(some.length <= limit)
        people.push(...some)
        if (next === null) return people
        after = next
        await between()
      }
    }
    const names = (people: readonly Found[]) => people.map(({ lastname }) => lastname)
    const reimport = async (edit: (school: School) => void) => {
      service.clock.advance(1_000)
      school = edited(school, edit)
      await rosterOf(service).import(bulk(school))
    }

    test('It is by last name if nothing else is asked for, without accents', async () => {
      const expected = ['Abel', 'Álvarez', 'Bakker', 'Çelik', 'Marsh', 'Mertens', 'Øster', 'Zuse']
      assert.deepEqual(names(await found({})), expected)
      assert.deepEqual(names(await found({ sort: '-name' })), expected.toReversed())
    })

    for (const sort of sorts)
      test(`By ${sort}, pages of every size name everybody once, in the same order`, async () => {
        const all = await found({ sort })
        const key = {
          name: ({ lastname }: Found) => lastname!.normalize('NFD').replace('Ø', 'O'),
          created: ({ createdAt }: Found) => createdAt,
          updated: ({ updatedAt }: Found) => updatedAt,
        }[sort.replace('-', '') as 'name' | 'created' | 'updated']
        const keys = all.map(key)
        assert.deepEqual(keys, sort.startsWith('-') ? keys.toSorted().toReversed() : keys.toSorted())
        const everybody = await service.rows<{ id: string }>(
          `select id from ${accounts} a where role <> 'staff' and status <> 'closed'`,
        )
        assert.deepEqual(all.map(({ userId }) => userId).sort(), everybody.map(({ id }) => id).sort())
        for (const limit of [1, 2, 3, 7]) assert.deepEqual(await pages({ sort }, limit), all, String(limit))
      })

    test('Filters narrow it, alone and together', async () => {
      for (const [query, expected] of [
        [{ role: 'student' }, ['Abel', 'Álvarez', 'Çelik', 'Mertens', 'Zuse']],
        [{ role: 'veterinarian' }, ['Bakker', 'Marsh', 'Øster']],
        [{ year: '4' }, ['Abel', 'Zuse']],
        [{ year: '2' }, ['Mertens']],
        [{ year: '1', sort: '-name' }, ['Çelik', 'Álvarez']],
        [{ year: '4', q: 'zoe' }, ['Abel']],
        [{ year: '4', role: 'veterinarian' }, []],
        [{ year: '4', verified: 'false' }, []],
        [{ status: 'inactive' }, ['Mertens']],
        [{ status: 'pending' }, ['Bakker', 'Marsh', 'Øster']],
        [{ status: 'active' }, ['Abel', 'Álvarez', 'Çelik', 'Zuse']],
        [{ verified: 'false', q: 'ada' }, ['Marsh', 'Øster']],
        [{ status: 'pending', q: 'ada' }, ['Marsh', 'Øster']],
        [{ status: 'inactive', q: 'nadia' }, ['Mertens']],
        [{ verified: 'true', q: 'ada' }, []],
        [{ updatedSince: '2020-01-01T00:00:00Z', q: 'ada', sort: 'name' }, ['Marsh', 'Øster']],
        [{ updatedSince: '2020-01-01T00:00:00Z', year: '4', sort: '-name' }, ['Zuse', 'Abel']],
        [{ q: 'ada', sort: '-created' }, ['Øster', 'Marsh']],
      ] as [Query, string[]][])
        assert.deepEqual(names(await found(query)), expected, JSON.stringify(query))
    })

    test('A misspelt name finds those whose names are similar, and says so', async () => {
      const similar = async (query: Query) => {
        const { people, similar: isSimilar } = await page(query)
        return [names(people), isSimilar]
      }
      for (const [query, expected] of [
        [{ q: 'nadja martens' }, [['Mertens'], true]],
        [{ q: 'alvares' }, [['Álvarez'], true]],
        [{ q: 'marhs' }, [['Marsh'], true]],
        [{ q: 'bakkr', role: 'student' }, [[], false]],
        [{ q: 'zuze', year: '4' }, [['Zuse'], true]],
        [{ q: 'zuze', year: '1' }, [[], false]],
        [{ q: 'zuse' }, [['Zuse'], false]],
        [{ q: 'xylander' }, [[], false]],
        [{ q: 'marhs@clinic.example' }, [[], false]],
      ] as const)
        assert.deepEqual(await similar(query), expected, JSON.stringify(query))
    })

    test('What it does not take is refused', async () => {
      const { next } = await page({ limit: '1' })
      for (const query of [
        'sort=email',
        'sort=',
        'year=four',
        'year=-1',
        'updatedSince=yesterday',
        'after=x',
        `after=${Buffer.from('["name","named",1]').toString('base64url')}`,
        `after=${next}&sort=-name`,
      ]) {
        const { status, json } = await service.request(`/staff/people?${query}`, { token: staff.access })
        assert.deepEqual([status, json.code], [400, 'invalid-request'], query)
      }
    })

    test('A student who is not enabled is found by name, number, address and id, and is inactive', async () => {
      const [nadia] = (await found({ q: 'nadia mertens' })) as [Found]
      assert.deepEqual(
        [nadia.status, nadia.email, nadia.studentNumber, nadia.year],
        ['inactive', 'off@school.example', 'S-off', 2],
      )
      for (const q of ['S-off', 'off@school.example', 'OFF@school', nadia.userId])
        assert.deepEqual(names(await found({ q })), ['Mertens'], q)
      const { profile } = (await service.request(`/staff/people/${nadia.userId}`, { token: staff.access }))
        .json
      assert.deepEqual([profile.lastname, profile.status], ['Mertens', 'inactive'])
      assert.equal((await studentCode(service, 'off@school.example')).code, null, 'and gets no code')
    })

    test('Whoever is enabled later keeps the account, and whoever is disabled keeps the name', async () => {
      const [before] = (await found({ q: 'nadia' })) as [Found]
      await reimport((s) => change(s.users, 'off', { enabledUser: 'true' }))
      const [enabled] = (await found({ q: 'nadia' })) as [Found]
      assert.deepEqual([enabled.userId, enabled.status], [before.userId, 'active'])
      const events = await service.rows<{ type: string }>(
        `select type from event where person_id = '${before.userId}' order by at`,
      )
      assert.deepEqual(
        events.map(({ type }) => type),
        ['student.added'],
      )
      await reimport((s) => change(s.users, 'off', { enabledUser: 'false', familyName: 'Martens' }))
      const [disabled] = (await found({ q: 'nadia' })) as [Found]
      assert.deepEqual(
        [disabled.userId, disabled.status, disabled.lastname],
        [before.userId, 'inactive', 'Martens'],
      )
      await rosterOf(service).undo()
      const [undone] = (await found({ q: 'nadia' })) as [Found]
      assert.deepEqual([undone.lastname, (await page({ q: 'martens' })).similar], ['Mertens', true])
      school = firstSchool()
      await reimport(() => {})
      assert.deepEqual([(await found({ q: 'nadia' }))[0]!.userId], [before.userId])
    })

    test('A student who left has no name and comes last', async () => {
      await reimport((s) => drop(s, 'omar'))
      for (const sort of ['name', '-name']) {
        const last = (await found({ sort })).at(-1)!
        assert.deepEqual([last.lastname, last.status], [null, 'inactive'], sort)
        assert.deepEqual(await pages({ sort }, 2), await found({ sort }), sort)
      }
      await rosterOf(service).undo()
      assert.ok(names(await found({})).includes('Çelik'))
    })

    test('updatedSince gives whoever changed, however it came about, and nobody else', async () => {
      const { support, veterinarians } = service.app.parts
      const since = () => {
        service.clock.advance(60_000)
        const at = new Date(service.clock.now()).toISOString()
        return async () => names(await pages({ updatedSince: at }, 1)).sort()
      }
      const idOf = async (q: string) => (await found({ q }))[0]!.userId
      let changed = since()
      assert.deepEqual(await changed(), [])
      await support.suspend(await idOf('zuse'), 'x', byOperator)
      assert.deepEqual(await changed(), ['Zuse'])
      await support.reactivate(await idOf('zuse'), null, byOperator)

      changed = since()
      await reimport((s) => {
        change(s.users, 'ines', { familyName: 'Alba' })
        drop(s, 'omar')
      })
      assert.deepEqual(await changed(), ['Alba', null])
      changed = since()
      await rosterOf(service).undo()
      assert.deepEqual(await changed(), ['Álvarez', 'Çelik'].sort())
      changed = since()
      await rosterOf(service).import(
        bulk(edited(firstSchool(), (s) => change(s.users, 'off', { grades: '3' }))),
      )
      assert.deepEqual(await changed(), ['Mertens'])

      changed = since()
      const marsh = await idOf('marsh')
      await support.close(marsh, 'x', byOperator)
      assert.deepEqual(await changed(), [null], 'a closed account, without its name')
      assert.deepEqual(
        (await found({ status: 'closed' })).map(({ userId }) => userId),
        [marsh],
      )
      assert.ok(!(await found({})).some(({ userId }) => userId === marsh))
      await veterinarians.settle()
    })

    test('An import that began before the last look and was published after it is not missed', async () => {
      const roster = rosterOf(service).roster
      service.clock.advance(60_000)
      const plan = await roster.plan(
        bulk(edited(firstSchool(), (s) => change(s.users, 'zoe', { givenName: 'Zoe' }))),
      )
      let looked = ''
      await roster.import(plan, { allow: holdCodes, by: byOperator }, (stage, done, total) => {
        if (stage !== 'writing' || done !== total || looked !== '') return
        service.clock.advance(30_000)
        looked = new Date(service.clock.now()).toISOString()
        service.clock.advance(30_000)
      })
      const changed = (await found({ updatedSince: looked })).find(({ lastname }) => lastname === 'Abel')
      assert.equal(changed?.firstname, 'Zoe')
      assert.ok(changed.updatedAt < looked)
    })

    test('While some are renamed and others come, nobody else is skipped or repeated', async () => {
      const { db } = service.app.parts
      const insert = (n: number, lastname: string) =>
        statement(
          `insert into person (id, role, status, email, email_key, firstname, firstname_key, lastname, lastname_key, created_at, updated_at)
           values ($1, 'veterinarian', 'active', $2, $2, 'Moving', 'moving', $3, lower($3), $4, $4)`,
          `moving${String(n).padStart(16, '0')}`,
          `moving${n}@many.example`,
          lastname,
          n,
        )
      const key = (n: number) => `Row${String(n).padStart(4, '0')}`
      await db.tx(Array.from({ length: 120 }, (_, n) => insert(n, key(n))))
      for (const sort of ['name', '-name', 'updated', '-created'] as const) {
        let turn = 0
        const seen = await pages({ sort, q: 'moving' }, 7, async () => {
          turn++
          // The multiples of ten are renamed again and again, to the front and to the end.
          const which = `moving${String((turn % 12) * 10).padStart(16, '0')}`
          const name = turn % 2 === 0 ? 'aaa' : 'zzz'
          await db.run('update person set lastname_key = $1, updated_at = updated_at + 1000 where id = $2', [
            name,
            which,
          ])
          await db.tx([insert(10_000 + turn + sorts.indexOf(sort) * 1_000, turn % 2 === 0 ? 'Aab' : 'Zzy')])
        })
        const still = seen.filter(({ userId }) => {
          const n = Number(userId.slice(6))
          return n < 120 && n % 10 !== 0
        })
        assert.equal(still.length, 108, sort)
        assert.equal(new Set(still.map(({ userId }) => userId)).size, 108, sort)
      }
      await db.run("delete from person where id like 'moving%'")
    })

    test(
      'Among thirty thousand people filters and orders find the same as one look at everybody',
      atLength,
      async () => {
        const { db } = service.app.parts
        const rows = Array.from({ length: 30_000 }, (_, i) => i)
        for (let at = 0; at < rows.length; at += 500)
          await db.tx(
            rows.slice(at, at + 500).map((i) =>
              statement(
                `insert into person (id, role, status, email, email_key, firstname, firstname_key, lastname, lastname_key, created_at, updated_at)
               values ($1, 'veterinarian', $2, $3, $3, 'Crowd', 'crowd', $4, lower($4), $5, $5)`,
                `crowd${String((i * 7919) % 30_000).padStart(17, '0')}`,
                i % 10_000 === 0 ? 'suspended' : 'active',
                `crowd${i}@many.example`,
                `Crowd${String(i).padStart(5, '0')}`,
                i,
              ),
            ),
          )
        const suspended = ['Crowd00000', 'Crowd10000', 'Crowd20000']
        for (const sort of ['name', 'created'])
          assert.deepEqual(names(await pages({ status: 'suspended', sort }, 2)), suspended, sort)
        assert.deepEqual(
          names(await pages({ status: 'suspended', sort: '-name' }, 1)),
          suspended.toReversed(),
        )
        assert.deepEqual(names(await found({ q: 'crowd29999' })), ['Crowd29999'])
        const dense = await pages({ q: 'crowd' }, 200)
        assert.equal(dense.length, 30_000)
        assert.deepEqual(names(dense), names(dense).toSorted())
      },
    )
  })
}
