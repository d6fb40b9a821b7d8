/** `chiron people`, `staff` and `events`, as separate processes beside a running service. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { hour } from '../src/platform/lib/clock.ts'
import { commandFolder, startChiron } from './support/child.ts'
import { atLength } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { addPasskey, newAuthenticator, ok, passkeySignIn } from './support/passkeys.ts'
import { run } from './support/roster-commands.ts'
import { bulk } from './support/roster-school.ts'
import { rosterOf, signInStudent } from './support/roster-world.ts'
import { type Service, startService } from './support/service.ts'
import { addStaff, signInStaff } from './support/staff.ts'
import { studentSchool } from './support/student-school.ts'
import { eventually, outboxEmpty } from './support/wait.ts'

const oneLine = /^chiron: [^\n]+\n$/

suite('chiron people, staff and events', { ...atLength }, () => {
  const folder = commandFolder()
  let service: Service
  let env: Record<string, string>
  before(async () => {
    service = await startService('sqlite')
    // Mails that a command queues are due by the machine's clock. The service's must not be behind it.
    service.clock.advance(Date.now() + hour - service.clock.now())
    await rosterOf(service).import(bulk(studentSchool([])))
    env = {
      CHIRON_DATABASE_URL: service.databaseUrl,
      CHIRON_SECRET: 'a secret for tests that is long enough',
    }
  })
  after(() => service.stop())

  const chiron = (...args: string[]) => run(folder.path, args, env)
  const done = async (...args: string[]) => {
    const ran = await chiron(...args)
    assert.equal(ran.code, 0, `${args.join(' ')}: ${ran.err}`)
    return ran
  }
  const refused = async (pattern: RegExp, ...args: string[]) => {
    const ran = await chiron(...args)
    assert.equal(ran.code, 1, args.join(' '))
    assert.match(ran.err, oneLine)
    assert.match(ran.err, pattern)
    assert.equal(ran.out, '')
  }

  test('find lists people, or says that there is nobody', async () => {
    const email = freshAddress('found')
    await service.register(email, { firstname: 'Wilhelmina', lastname: 'Drücker' })
    await service.app.parts.veterinarians.settle()
    const { out } = await done('people', 'find', 'wilhel druck')
    assert.match(out, /^id +role +status +name +address +number\n/)
    assert.match(out, new RegExp(`veterinarian +pending +Wilhelmina Drücker +${email}`))
    const { json } = await done('people', 'find', email, '--json')
    assert.deepEqual([json[0].people.length, json[0].next], [1, null])
    assert.match((await done('people', 'find', 'nobody at all')).out, /^Nobody was found\.\n$/)
    const paged = await done('people', 'find', '', '--limit', '1')
    assert.match(paged.out, /There are more: add --after \S+\n$/)
    await refused(/--role must be veterinarian or student/, 'people', 'find', 'x', '--role', 'staff')
    await refused(/--limit must be a whole number/, 'people', 'find', 'x', '--limit', 'many')
  })

  test('passkeys, remove-passkey and staff reset-passkeys tell what happened', async () => {
    const email = freshAddress('keys')
    const vet = await service.signIn(email, freshNetwork())
    assert.match((await done('people', 'passkeys', email)).out, /has no passkeys/)
    const device = newAuthenticator(service)
    const { passkeyId } = ok(await addPasskey(service, vet.access, device, { name: 'Lost phone' }), 201)
    assert.match((await done('people', 'passkeys', email)).out, new RegExp(`${passkeyId} +Lost phone`))
    const { json } = await done('people', 'passkeys', email, '--json')
    assert.deepEqual(json[0].passkeys, ok(await service.request('/passkey', { token: vet.access })).passkeys)
    await refused(/No passkey has this id/, 'people', 'remove-passkey', email, 'none')
    assert.match((await done('people', 'remove-passkey', email, passkeyId)).out, /is removed/)
    assert.equal((await passkeySignIn(service, device)).json.known, false)
    const { mail } = await service.mail.mailTo(email, 3)
    assert.equal(mail.subject, 'A passkey was removed from your account')

    const { email: member } = await addStaff(service, ['support'])
    const { access } = await signInStaff(service, member)
    ok(await addPasskey(service, access, newAuthenticator(service)), 201)
    assert.match((await done('staff', 'reset-passkeys', member)).out, /has lost 1 passkey and is signed out/)
    assert.equal((await service.request('/staff/me', { token: access })).json.code, 'session-ended')
    await refused(/No member of staff has this address/, 'staff', 'reset-passkeys', 'nobody@school.example')
  })

  test('suspend, reactivate, sign-out, verify, unverify and show tell what happened', async () => {
    const email = freshAddress('cli')
    const vet = await service.signIn(email, freshNetwork())
    await refused(/give a reason with --reason/, 'people', 'suspend', email)
    assert.match((await done('people', 'suspend', email, '--reason', 'lost a phone')).out, /is suspended/)
    assert.equal(
      (await service.request('/veterinarian/me', { token: vet.access })).json.code,
      'session-ended',
    )
    assert.match((await done('people', 'suspend', email, '--reason', 'again')).out, /was already suspended/)
    assert.match((await done('people', 'reactivate', vet.userId)).out, /can sign in again/)
    assert.match((await done('people', 'sign-out', email)).out, /was not signed in/)
    const [verified] = (await done('people', 'verify', email, '--note', 'passport', '--json')).json
    assert.deepEqual(verified, { userId: vet.userId, changed: true })
    assert.match((await done('people', 'unverify', email)).out, /no longer verified/)
    const { out } = await done('people', 'show', email)
    for (const word of [
      email,
      'veterinarian.suspended',
      'by operator',
      'lost a phone',
      'passport',
      'Sessions',
    ])
      assert.ok(out.includes(word), word)
    const [shown] = (await done('people', 'show', email, '--json')).json
    assert.equal(shown.profile.userId, vet.userId)
  })

  test('change-address moves a veterinarian, and close asks for --yes', async () => {
    const [email, next] = [freshAddress('from'), freshAddress('to')]
    const vet = await service.signIn(email, freshNetwork())
    await refused(/must be one e-mail address/, 'people', 'change-address', email, 'nowhere')
    assert.match((await done('people', 'change-address', email, next)).out, /both addresses are notified/)
    assert.equal((await service.signIn(next, freshNetwork())).userId, vet.userId)
    await refused(/cannot be undone; add --yes/, 'people', 'close', next, '--reason', 'asked')
    assert.match((await done('people', 'close', next, '--reason', 'asked', '--yes')).out, /is closed/)
    await refused(/Nobody has the id, address or number/, 'people', 'show', next)
    assert.match((await done('people', 'show', vet.userId)).out, /closed/)
  })

  test('export prints what the person’s own export has', async () => {
    const student = await signInStudent(service, 'ada.byron@school.example')
    await outboxEmpty(service)
    const own = (await service.request('/student/me/export', { token: student.access })).json
    const printed = JSON.parse((await done('people', 'export', 'ada.byron@school.example')).out)
    assert.deepEqual({ ...printed, exportedAt: '' }, { ...own, exportedAt: '' })
  })

  test('staff are added, listed, changed and removed', async () => {
    const email = freshAddress('desk')
    await refused(/give the name/, 'staff', 'add', email, '--may', 'support')
    await refused(/give their rights/, 'staff', 'add', email, '--name', 'Ada Marsh')
    await refused(
      /--may takes a comma-separated list of support, registrar, admin/,
      'staff',
      'add',
      email,
      '--name',
      'A B',
      '--may',
      'all',
    )
    const { out } = await done(
      'staff',
      'add',
      email,
      '--name',
      'Ada Mary Marsh',
      '--may',
      'support,registrar',
    )
    assert.match(out, /may now support, registrar, and can sign in at .*\/console/)
    const { access } = await signInStaff(service, email)
    const me = (await service.request('/staff/me', { token: access })).json
    assert.deepEqual([me.firstname, me.lastname], ['Ada Mary', 'Marsh'])
    await refused(
      /member of staff already has this address/,
      'staff',
      'add',
      email,
      '--name',
      'X Y',
      '--may',
      'admin',
    )
    assert.match((await done('staff', 'list')).out, new RegExp(`${email} +Ada Mary Marsh +support,registrar`))
    assert.match((await done('staff', 'change', email, '--may', 'admin')).out, /may now admin/)
    await refused(/last admin/, 'staff', 'remove', email)
    const other = freshAddress('other')
    await done('staff', 'add', other, '--name', 'Bo', '--may', 'admin')
    assert.match((await done('staff', 'remove', email)).out, /no longer a member of staff/)
    assert.equal((await service.request('/staff/me', { token: access })).json.code, 'session-ended')
    await refused(/No member of staff has this address/, 'staff', 'remove', email)
  })

  test('events are listed by type, person and time, and followed', async () => {
    const email = freshAddress('events')
    await service.register(email)
    service.clock.advance(1)
    const vet = await service.signIn(email, freshNetwork())
    const { json } = await done('events', '--json', '--person', email)
    assert.deepEqual(
      json.map(({ type }) => type),
      ['veterinarian.registered', 'veterinarian.activated', 'session.started'],
    )
    const started = json[2]
    assert.deepEqual(started.data, { sessionId: vet.sessionId, method: 'code' })
    assert.deepEqual([started.userId, started.actor], [vet.userId, 'self'])
    const only = await done('events', '--type', 'session.started', '--after', String(started.number - 1))
    assert.match(only.out, /^ +\d+ {2}\d{4}-\d\d-\d\dT\S+ {2}session\.started/)
    await refused(/did you mean session.started/, 'events', '--type', 'session.start')
    await refused(/--since must be a time/, 'events', '--since', 'lately')
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
    assert.equal((await done('events', '--since', tomorrow)).out, '')

    const follower = startChiron(['events', '--follow', '--json', '--after', String(started.number)], {
      cwd: folder.path,
      env,
    })
    const later = await service.signIn(freshAddress('later'), freshNetwork())
    await eventually('it is printed', () => follower.output.out.includes(later.sessionId))
    follower.kill('SIGINT')
    await follower.exited
  })

  test('--env-file takes settings from another file, which must be there', async () => {
    const file = join(folder.path, 'elsewhere.env')
    writeFileSync(
      file,
      Object.entries(env)
        .map(([name, value]) => `${name}="${value}"\n`)
        .join(''),
    )
    const ran = await run(folder.path, ['staff', 'list', '--env-file', file], {})
    assert.equal(ran.code, 0, ran.err)
    const missing = await run(folder.path, ['staff', 'list', '--env-file', 'none.env'], {})
    assert.deepEqual(
      [missing.code, missing.err],
      [1, 'chiron: there is no file none.env to read settings from\n'],
    )
    const aFolder = await run(folder.path, ['roster', 'history', '--env-file', '.'], {})
    assert.deepEqual([aFolder.code, aFolder.err], [1, 'chiron: . is not a file with settings (EISDIR)\n'])
  })
})
