/** Whatever people, mail servers and files wrote, a command prints no character that a terminal would obey. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { byOperator, bySystem } from '../src/platform/lib/by.ts'
import { visible, visibleJson, visibleLines } from '../src/platform/lib/visible.ts'
import { createLog, spelledOut } from '../src/platform/log.ts'
import { command, commandFolder, startChiron } from './support/child.ts'
import { atLength } from './support/engines.ts'
import { freshNetwork } from './support/fresh.ts'
import { bulk, change } from './support/roster-school.ts'
import { rosterOf } from './support/roster-world.ts'
import { type Service, startService } from './support/service.ts'
import { addStaff } from './support/staff.ts'
import { studentSchool } from './support/student-school.ts'
import { outboxEmpty } from './support/wait.ts'

/** Colours, clears and renames by C0 and C1, turns the direction round, hides, and breaks lines. */
const hostile = 'x\u001b[31m\u009b2J\u009d0;t\u0007\u007f\u0085\u2028\u202e\u2066\u200b\u{e0041}\r\nchiron: y'
const obeyed = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u
const src = fileURLToPath(new URL('../src/', import.meta.url))

test('Text, lines and JSON escape every such character, and JSON stays what it was', () => {
  const value = { [hostile]: [hostile, { deep: hostile }] }
  for (const text of [visible(hostile), visibleLines(hostile).replace('\n', ''), visibleJson(value)])
    assert.doesNotMatch(text, obeyed)
  assert.equal(visibleLines('a\nb'), 'a\nb')
  for (const indent of [0, 2]) assert.deepEqual(JSON.parse(visibleJson(value, indent)), value)
})

test('Commands write to the terminal in one place', () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
    (file) => /\.(ts|js)$/.test(file) && !file.startsWith(join('platform', 'http', 'assets')),
  )
  const writing = files.filter((file) =>
    /\bstd(out|err)\.write\(|\bconsole\.\w+\(/.test(readFileSync(join(src, file), 'utf8')),
  )
  assert.deepEqual(writing.sort(), [join('operate', 'commands', 'output.ts'), join('platform', 'log.ts')])
})

test('A line of the log for people shows such characters as they are written', () => {
  const lines: string[] = []
  const log = createLog(false, { write: (line) => void lines.push(spelledOut(line)) })
  log.warn({ reply: hostile, path: 'C:\\u001b' }, hostile)
  const { reply, path } = JSON.parse(lines[0]!)
  assert.doesNotMatch(reply.replaceAll('\n', ''), obeyed)
  assert.ok(reply.includes('\\u001b[31m\\u009b2J'))
  assert.equal(path, 'C:\\u001b')
})

suite('The terminal of an operator', atLength, () => {
  const folder = commandFolder()
  const email = 'hostile@vets.example'
  let service: Service
  let env: Record<string, string>
  let userId: string
  let webhookId: string
  let clientId: string
  let set: string
  before(async () => {
    service = await startService('sqlite')
    env = {
      CHIRON_DATABASE_URL: service.databaseUrl,
      CHIRON_SECRET: 'a secret for tests that is long enough',
    }
    const { db, support, deliveries, webhooks, clients } = service.app.parts
    const school = studentSchool([])
    await rosterOf(service).import(bulk(school))
    change(school.users, [...school.users.keys()][0]!, { givenName: hostile, email: `no ${hostile}` })
    set = bulk(school)
    const member = await addStaff(service, ['support'])
    ;({ userId } = await service.signIn(email, freshNetwork()))
    await outboxEmpty(service)
    await support.verify(userId, hostile, byOperator)
    await deliveries.bounced(
      { hard: true, server: hostile, reply: hostile, names: [], recipient: email },
      bySystem,
    )
    const client = { name: 'App', redirectUris: ['https://app.example.org/'] }
    ;({ clientId } = await clients.add(client, byOperator))
    webhookId = (await webhooks.add({ url: 'https://hook.example/', events: ['*'] })).id
    // An older version might have let it in.
    for (const [sql, ...params] of [
      [
        'update person set firstname = $1, lastname = $1 where id in ($2, $3)',
        hostile,
        userId,
        member.userId,
      ],
      ['update session set device = $1', hostile],
      ['update event set actor = $1, data = $2', hostile, JSON.stringify({ [hostile]: hostile })],
      ['update roster_generation set file_name = $1, actor = $1', hostile],
      ['update client set name = $1', hostile],
      ['update webhook set url = $1 where id = $2', `https://hook.example/${hostile}`, webhookId],
      [
        'insert into webhook_delivery (webhook_id, number, line, error) values ($1, 1, $2, $3)',
        webhookId,
        '',
        hostile,
      ],
    ] as [string, ...string[]][])
      await db.run(sql, params)
    mkdirSync(join(folder.path, 'empty'))
  })
  after(async () => {
    // They hold what no event may hold, which every service is looked through for at its end.
    await service.app.parts.db.run('delete from event')
    await service.stop()
  })

  /** `fails`: it is in what went wrong. `quiet`: nothing of it is printed today. */
  const commands: readonly { args: () => string[]; fails?: true; quiet?: true }[] = [
    { args: () => ['people', 'find', 'hostile'] },
    { args: () => ['people', 'show', email] },
    { args: () => ['people', 'export', email] },
    { args: () => ['people', 'sign-out', email], quiet: true },
    { args: () => ['mail', 'show', email] },
    { args: () => ['mail', 'list'] },
    { args: () => ['events', '--person', email] },
    { args: () => ['network', '127.0.0.1'], quiet: true },
    { args: () => ['staff', 'list'] },
    { args: () => ['webhooks', 'list'] },
    { args: () => ['webhooks', 'deliveries', webhookId] },
    { args: () => ['clients', 'list'] },
    { args: () => ['clients', 'show', clientId] },
    { args: () => ['clients', 'disable', clientId] },
    { args: () => ['clients', 'change', clientId, '--name', hostile], fails: true, quiet: true },
    { args: () => ['clients', 'change', clientId, '--scopes', hostile], fails: true },
    { args: () => ['roster', 'history'] },
    { args: () => ['roster', 'check', set, '--verbose'], fails: true },
    { args: () => ['people', 'show', hostile], fails: true },
    { args: () => ['people', 'find', 'x', '--role', hostile], fails: true, quiet: true },
    { args: () => ['mail', 'show', hostile], fails: true },
    { args: () => ['events', '--type', hostile], fails: true },
    { args: () => ['roster', 'check', `${hostile}.zip`], fails: true },
    { args: () => ['roster', 'import', set, '--allow', hostile], fails: true },
    { args: () => [hostile], fails: true },
  ]
  for (const { args, fails = false, quiet = false } of commands)
    for (const asJson of [false, true])
      test(`obeys nothing of ${visible(args.toString().replace(/^\(\) => /, ''))}${asJson ? ' --json' : ''}`, async () => {
        const child = startChiron([...args(), ...(asJson ? ['--json'] : [])], { cwd: folder.path, env })
        const { code } = await child.exited
        const { out, err } = child.output
        assert.equal(code !== 0, fails, `${out}${err}`)
        for (const line of [...out.split('\n'), ...err.split('\n')]) {
          assert.doesNotMatch(line, obeyed)
          assert.doesNotMatch(line, /^chiron: y/, 'no line is anybody else’s')
        }
        if (!quiet) assert.ok(`${out}${err}`.includes('\\u009b2J'), 'it is there, in plain letters')
        if (asJson && args()[1] !== 'export' && args()[0] !== hostile)
          for (const line of `${out}${err}`.split('\n').filter(Boolean)) JSON.parse(line)
      })

  test('A terminal shows the progress of a check in one line, which is cleared before anything else', () => {
    const chiron = `'${command}' roster check '${bulk(studentSchool([]))}'`
    const shown = execFileSync('script', ['-qec', chiron, '/dev/null'], {
      cwd: folder.path,
      env: { PATH: process.env.PATH, ...env },
      encoding: 'utf8',
    })
    const [before = '', after = '', answer = ''] = shown.split('\u001b[K')
    assert.match(before, /\rreading \d+ rows, \d+\/s$/)
    assert.equal(after, '\r')
    assert.match(answer, /^roster: OneRoster/)
  })

  test('What is escaped in JSON is what was stored', async () => {
    const child = startChiron(['people', 'export', email], { cwd: folder.path, env })
    await child.exited
    const { profile, deliveries } = JSON.parse(child.output.out)
    assert.equal(profile.firstname, hostile)
    const bounced = deliveries[0].steps.find(({ step }: { step: string }) => step === 'bounced')
    assert.deepEqual([bounced.server, bounced.reply], [hostile, hostile])
  })
})
