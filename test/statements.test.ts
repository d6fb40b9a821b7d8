/** Every SQL text stays prepared as long as its connection lives, so what callers choose must not be part of a text. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { eventTypes, readFeed } from '../src/messages/events/events.ts'
import { caughtMails } from '../src/messages/mail/store.ts'
import { deliveriesTo } from '../src/messages/webhooks/store.ts'
import { countServed } from '../src/operate/support/store.ts'
import { type Db, padded } from '../src/platform/db/db.ts'
import { publishedGenerations } from '../src/school/roster/store/generations.ts'
import { changePages } from '../src/school/roster/upload/store.ts'
import { oldestRegistrations } from '../src/school/veterinarian/store.ts'
import { addClient, serviceToken } from './support/applications.ts'
import { engines } from './support/engines.ts'
import { recordStore } from './support/recorded.ts'
import { type Service, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'

/** Records every text that the service sends to its store from now on. */
function recordTexts(db: Db): Set<string> {
  const texts = new Set<string>()
  recordStore(db, ({ statements }) => {
    for (const { sql } of statements) texts.add(sql)
  })
  return texts
}

/** Without its numbers and literals. */
const shapeOf = (text: string) => text.replaceAll(/(?<![\w$])\d+|'[^']*'/g, '?')
const timeOf = (second: number) => new Date(Date.UTC(2026, 10, 1, 0, 0, second)).toISOString()

test('A list is padded to the next power of two', () => {
  assert.deepEqual(
    [[], [1], [1, 2], [1, 2, 3], [1, 2, 3, 4, 5]].map((list) => padded(list)),
    [[], [1], [1, 2], [1, 2, 3, 3], [1, 2, 3, 4, 5, 5, 5, 5]],
  )
})

test('One file says which rows of the roster a generation shows', () => {
  const source = fileURLToPath(new URL('../src/', import.meta.url))
  const compares = /_gen(?: \+ 0)? (?:[<>]|is )/
  const says = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && compares.test(readFileSync(`${source}${file}`, 'utf8')),
  )
  assert.deepEqual(says, ['identity/people/in-roster.ts'])
})

for (const engine of engines) {
  suite(`SQL texts on ${engine}`, () => {
    let service: Service
    let db: Db
    let texts: Set<string>
    before(async () => {
      service = await startService(engine, { env: { CHIRON_LIMITS: 'off' } })
      db = service.app.parts.db
      texts = recordTexts(db)
    })
    after(() => service.stop())

    const limits = Array.from({ length: 40 }, (_, i) => i * 5 + 1)
    /** Texts that differ only in a number. */
    const variants = () => {
      const alike = Map.groupBy(texts, (text) => text.replaceAll(/(?<![\w$])\d+/g, 'N'))
      return [...alike.values()].filter(({ length }) => length > 1)
    }

    test('do not change with the limit of a list, over HTTP', async () => {
      const { access } = await newStaff(service, 'admin')
      const lists = [
        '/staff/people?q=ada&',
        '/staff/people?',
        '/staff/deliveries?',
        '/staff/events?',
        '/staff/events?before=9&',
      ]
      const token = await serviceToken(service, await addClient(service, { kind: 'service' }), 'roster.read')
      const directory = ['students', 'classes', 'enrolments'].flatMap((list) =>
        ['', 'updatedSince=2026-11-15T00:00:00Z&'].map((since) => `/roster/${list}?${since}`),
      )
      const ask = async (path: string, limit: number, as = access) => {
        const reply = await service.request(`${path}limit=${limit}`, { token: as })
        assert.equal(reply.status, 200, `${path} ${reply.text}`)
      }
      for (const limit of limits) {
        for (const path of lists) await ask(path, limit)
        for (const path of directory) await ask(path, limit, token)
      }
      assert.deepEqual(variants(), [])
    })

    test('do not change with the limit that other parts ask for', async () => {
      const reads: ((limit: number) => Promise<unknown>)[] = [
        (limit) => countServed(db, '', limit),
        (limit) => caughtMails(db, {}, limit),
        (limit) => changePages(db, { planId: 'none', place: 0, page: 0 }, 'changes', limit),
        (limit) => publishedGenerations(db, limit),
        (limit) => oldestRegistrations(db, limit),
        (limit) => deliveriesTo(db, 'none', limit),
      ]
      for (const read of reads) for (const limit of limits) await read(limit)
      assert.deepEqual(variants(), [])
    })

    test('stay the same over a thousand different requests', async () => {
      const { access } = await newStaff(service, 'admin')
      const requests: ((i: number) => Promise<{ status: number }>)[] = [
        (i) => service.register(`text${i}@practice.example`),
        (i) => service.post('/veterinarian/send-otp', { email: `text${i}@practice.example` }),
        (i) => service.request(`/staff/people?q=text${i}`, { token: access }),
        (i) => service.request(`/staff/people?updatedSince=${timeOf(i)}&limit=${i + 1}`, { token: access }),
        (i) => service.request(`/staff/events?since=${timeOf(i)}&before=${i + 9}`, { token: access }),
        (i) => service.request(`/staff/deliveries?email=text${i}@practice.example`, { token: access }),
      ]
      const ask = async (from: number, to: number) => {
        for (let i = from; i < to; i++)
          for (const request of requests) assert.ok((await request(i)).status < 300, `${request} ${i}`)
      }
      await ask(0, 5)
      const first = new Set(texts)
      const shapes = new Set([...first].map(shapeOf))
      await ask(5, 5 + Math.ceil(1_000 / requests.length))
      // Workers may have written texts of another shape meanwhile.
      const others = [...texts].filter((text) => !first.has(text) && shapes.has(shapeOf(text)))
      assert.deepEqual(others, [])
    })

    test('are few for lists of events of any length', async () => {
      for (const [i] of eventTypes.entries()) {
        await readFeed(db, { types: eventTypes.slice(0, i + 1), limit: 10 })
        await readFeed(db, { types: eventTypes.slice(i).flatMap((type) => [type, type]), limit: 10 })
      }
      const lists = [...texts].filter((text) => text.includes('e.type in ('))
      assert.equal(lists.length, 1 + Math.ceil(Math.log2(eventTypes.length)))
    })
  })
}
