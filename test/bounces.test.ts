/** Bounces: from a mail server's pipe and from mail providers, and who can report them. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { readDsn } from '../src/messages/delivery/dsn.ts'
import { hookSecret } from '../src/messages/delivery/hook.ts'
import { mailNamedIn, tagOf } from '../src/messages/delivery/tag.ts'
import { bySystem } from '../src/platform/lib/by.ts'
import { newIdAt } from '../src/platform/lib/random.ts'
import { secretsFrom } from '../src/platform/lib/secret.ts'
import { Roster } from '../src/school/roster/roster.ts'
import { deliveredAs, deliveriesTo, stepsOf } from './support/deliveries.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { addUser, bulk, emptySchool } from './support/roster-school.ts'
import { rosterOf, signInStudent, studentCode } from './support/roster-world.ts'
import { type Service, startService } from './support/service.ts'
import { outboxEmpty } from './support/wait.ts'

const secrets = secretsFrom('a secret for tests that is long enough', null)
const secret = hookSecret(secrets.current)

interface Dsn {
  readonly to?: string
  readonly envelopeId?: string
  readonly messageId?: string
  readonly action?: string
  readonly status?: string
  readonly diagnostic?: string
}

function dsnText(dsn: Dsn): string {
  const {
    action = 'failed',
    status = '5.1.1',
    diagnostic = '550 5.1.1 <gone@x.example>:\r\n User unknown',
  } = dsn
  return [
    'From: Mail Delivery System <MAILER-DAEMON@mx.example>',
    `To: ${dsn.to ?? 'no-reply@chiron.example'}`,
    'Subject: Undelivered Mail Returned to Sender',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status; boundary="part"',
    '',
    '--part',
    'Content-Type: text/plain; charset=us-ascii',
    '',
    'I am sorry.',
    '--part',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.example',
    ...(dsn.envelopeId === undefined ? [] : [`Original-Envelope-Id: ${dsn.envelopeId}`]),
    '',
    'Final-Recipient: rfc822; gone@x.example',
    `Action: ${action}`,
    `Status: ${status}`,
    'Remote-MTA: dns; mail.x.example',
    `Diagnostic-Code: smtp; ${diagnostic}`,
    '',
    '--part',
    'Content-Type: text/rfc822-headers',
    '',
    ...(dsn.messageId === undefined ? [] : [`Message-ID: ${dsn.messageId}`]),
    'Subject: Your code',
    '',
    '--part--',
    '',
  ].join('\r\n')
}

test('A mail’s name survives capitals and lower-casing, and nothing else passes for it', () => {
  for (let i = 0; i < 100; i++) {
    const id = newIdAt(Date.now() + i * 1_000_003)
    const tag = tagOf(secrets.current, id)
    assert.match(tag, /^[a-p]{56}$/)
    for (const text of [
      `<${tag}@host>`,
      `bounce+${tag}@b.example`,
      tag.toUpperCase(),
      `x ${'a'.repeat(56)} ${tag}`,
    ])
      assert.equal(mailNamedIn(secrets, text), id)
    const other = [...tag]
      .map((letter, at) => (at === i % 56 ? (letter === 'a' ? 'b' : 'a') : letter))
      .join('')
    for (const text of [
      other,
      tag.slice(1),
      `a${tag}`,
      tagOf(secretsFrom('another secret that is long enough too', null).current, id),
    ])
      assert.equal(mailNamedIn(secrets, text), undefined)
  }
})

test('A notification is read as RFC 3464 has it, and other mail is none', async () => {
  const read = (text: string) => readDsn(Buffer.from(text))
  const hard = await read(dsnText({ to: 'bounce+x@b.example', envelopeId: 'env', messageId: '<m@x>' }))
  assert.deepEqual(hard, {
    hard: true,
    server: 'mail.x.example',
    reply: '550 5.1.1 <gone@x.example>: User unknown',
    names: ['bounce+x@b.example', 'env', '<m@x>'],
  })
  const hardness: [dsn: Dsn, hard: boolean | 'delivered'][] = [
    [{ action: 'Failed', status: '5.7.1' }, true],
    [{ action: 'failed', status: '4.4.7' }, false],
    [{ action: 'delayed', status: '4.4.1' }, false],
    [{ action: 'delivered', status: '2.0.0' }, 'delivered'],
    [{ action: 'relayed', status: '2.0.0' }, 'delivered'],
  ]
  for (const [dsn, expected] of hardness) {
    const told = await read(dsnText(dsn))
    assert.equal(typeof told === 'object' ? told.hard : told, expected)
  }
  const others = [
    '',
    'hello',
    'Subject: hi\r\n\r\nhello',
    dsnText({}).replace('message/delivery-status', 'text/plain'),
    dsnText({ action: '' }),
  ]
  for (const text of [...others, `Content-Type: ${'x'.repeat(1_000_000)}`, 'a: b\r\n'.repeat(100_000)])
    assert.equal(await read(text), undefined)
})

for (const engine of engines) {
  suite(`Bounces on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine, { env: { CHIRON_MAIL_BOUNCES: 'bounces.school.example' } })
    })
    after(() => service.stop())

    /** A mail that was handed over, and what it is called in the world. */
    const sent = async (name = 'bouncing') => {
      const email = freshAddress(name)
      await service.register(email)
      const { code } = await service.code(email, freshNetwork())
      const { deliveryId, userId } = await deliveredAs(service, email, 'handed')
      const { raw } = await service.mail.mailTo(email)
      const messageId = /^Message-ID: (.*)\r$/m.exec(raw)![1]!
      return { email, code, deliveryId, userId, messageId, tag: messageId.slice(1, 57) }
    }
    const piped = async (dsn: Dsn) => {
      const told = await readDsn(Buffer.from(dsnText(dsn)))
      assert.ok(typeof told === 'object')
      return service.app.parts.deliveries.bounced(told, bySystem)
    }
    const post = (body: unknown, headers: Record<string, string> = {}) =>
      service.post('/hooks/bounces', body, {
        authorization: `Bearer ${secret}`,
        ...freshNetwork(),
        ...headers,
      })
    const bounces = (deliveryId: string) =>
      service.rows<{ person_id: string | null; data: string; actor: string }>(
        "select person_id, data, actor from event where type = 'mail.bounced' and id like $1 order by id",
        [`%${deliveryId}`],
      )

    const ways: [name: string, dsn: (mail: { tag: string; messageId: string }) => Dsn][] = [
      ['its recipient', ({ tag }) => ({ to: `<bounce+${tag}@bounces.school.example>` })],
      ['Original-Envelope-Id', ({ tag }) => ({ envelopeId: tag })],
      ['the Message-ID of the returned mail', ({ messageId }) => ({ messageId })],
    ]
    for (const [name, dsn] of ways)
      test(`A notification finds its mail by ${name}`, async () => {
        const mail = await sent()
        assert.equal(await piped(dsn(mail)), mail.deliveryId)
        const [delivery] = await deliveriesTo(service, mail.email)
        assert.equal(delivery!.state, 'bounced')
        const { step, hard, server, reply } = delivery!.steps.at(-1)!
        assert.deepEqual(
          { step, hard, server, reply },
          {
            step: 'bounced',
            hard: true,
            server: 'mail.x.example',
            reply: '550 5.1.1 <gone@x.example>: User unknown',
          },
        )
        const events = await bounces(mail.deliveryId)
        assert.deepEqual(
          events.map(({ person_id, data, actor }) => [person_id, JSON.parse(data), actor]),
          [[mail.userId, { hard: 'true' }, 'system']],
        )
      })

    test('A bounce that is reported many times is one, and a soft one may come before a hard one', async () => {
      const mail = await sent()
      const soft = { envelopeId: mail.tag, action: 'delayed', status: '4.4.1' }
      await Promise.all([soft, soft, soft].map(piped))
      const hard = { envelopeId: mail.tag }
      await Promise.all([hard, hard, hard].map(piped))
      const [delivery] = await deliveriesTo(service, mail.email)
      assert.deepEqual(
        delivery!.steps.flatMap(({ step, hard }) => (step === 'bounced' ? [hard] : [])),
        [false, true],
      )
      assert.equal((await bounces(mail.deliveryId)).length, 2)
    })

    test('Nobody can report a bounce of a mail by its id, its neighbour’s name or an address', async () => {
      const mail = await sent()
      const own = await sent()
      const forged = [
        mail.deliveryId,
        mail.tag.slice(0, 44) + own.tag.slice(44),
        mail.tag.slice(0, 44) + 'a'.repeat(12),
      ]
      for (const name of forged) {
        const dsn = {
          to: `bounce+${name}@bounces.school.example`,
          envelopeId: name,
          messageId: `<${name}@x>`,
        }
        assert.equal(await piped({ ...dsn, diagnostic: `550 ${mail.email}` }), undefined)
      }
      assert.equal((await deliveriesTo(service, mail.email))[0]!.state, 'handed')
    })

    test('A code that a report quotes is not kept', async () => {
      const mail = await sent()
      await piped({ envelopeId: mail.tag, diagnostic: `550 your code is ${mail.code}` })
      const [delivery] = await deliveriesTo(service, mail.email)
      assert.equal(delivery!.steps.at(-1)!.reply, '550 your code is …')
    })

    test('A mail whose code was used stays opened', async () => {
      const email = freshAddress('used')
      await service.signIn(email, freshNetwork())
      await outboxEmpty(service)
      const { deliveryId } = (await deliveriesTo(service, email))[0]!
      assert.equal(await piped({ envelopeId: tagOf(secrets.current, deliveryId) }), deliveryId)
      const [delivery] = await deliveriesTo(service, email)
      assert.equal(delivery!.state, 'opened')
      assert.equal(stepsOf(delivery)!.at(-1), 'bounced')
    })

    type Sent = Awaited<ReturnType<typeof sent>>
    const ses = (mail: Partial<Sent>, more: object = {}) => ({
      notificationType: 'Bounce',
      bounce: {
        bounceType: 'Permanent',
        bounceSubType: 'General',
        reportingMTA: 'dns; email.example.com',
        bouncedRecipients: [
          {
            emailAddress: mail.email,
            action: 'failed',
            status: '5.1.1',
            diagnosticCode: 'smtp; 550 5.1.1 no user',
          },
        ],
        ...more,
      },
      mail: {
        messageId: '00000138111222aa-33322211',
        source: 'no-reply@chiron.example',
        headers: [{ name: 'Message-ID', value: mail.messageId }],
      },
    })
    const sns = (message: unknown) => ({
      Type: 'Notification',
      MessageId: '22b80b92',
      TopicArn: 'arn:aws:sns:eu-west-1:1:bounces',
      Message: JSON.stringify(message),
    })
    const postmark = (mail: Partial<Sent>, type = 'HardBounce') => ({
      RecordType: 'Bounce',
      Type: type,
      TypeCode: 1,
      MessageID: '883953f4-6105-42a2-a16a-77a8eac79483',
      Metadata: { mail: mail.tag },
      Details: 'smtp;550 5.1.1 no user',
      Email: 'somebody@else.example',
    })
    const mailgun = (mail: Partial<Sent>, severity = 'permanent') => ({
      signature: { timestamp: '1', token: 'x', signature: 'y' },
      'event-data': {
        event: 'failed',
        severity,
        recipient: mail.email,
        message: { headers: { 'message-id': mail.messageId?.slice(1, -1) } },
        'delivery-status': { code: 550, message: '5.1.1 no user', 'mx-host': 'mx.clinic.example' },
      },
    })
    const shapes: [name: string, body: (mail: Sent) => unknown, hard: boolean][] = [
      ['SES', (mail) => ses(mail), true],
      ['SES for now', (mail) => ses(mail, { bounceType: 'Transient' }), false],
      [
        'SES as an event',
        (mail) => ({ ...ses(mail), notificationType: undefined, eventType: 'Bounce' }),
        true,
      ],
      ['SES through SNS', (mail) => sns(ses(mail)), true],
      ['SES, by recipient', (mail) => ses({ email: mail.email }), true],
      ['Postmark', (mail) => postmark(mail), true],
      ['Postmark for now', (mail) => postmark(mail, 'Transient'), false],
      ['Postmark, by recipient', ({ email }) => ({ ...postmark({}), Metadata: {}, Email: email }), true],
      ['Mailgun', (mail) => mailgun(mail), true],
      ['Mailgun for now', (mail) => mailgun(mail, 'temporary'), false],
    ]
    for (const [name, body, hard] of shapes)
      test(`The hook takes what ${name} posts`, async () => {
        const mail = await sent('hooked')
        const reply = await post(body(mail))
        assert.deepEqual([reply.status, reply.text], [204, ''])
        const [delivery] = await deliveriesTo(service, mail.email)
        assert.equal(delivery!.state, 'bounced')
        const step = delivery!.steps.at(-1)!
        assert.equal(step.hard, hard)
        assert.match(step.reply!, /5\.1\.1 no user/)
        const [event] = await bounces(mail.deliveryId)
        assert.deepEqual([event!.person_id, event!.actor], [mail.userId, 'system'])
      })

    test('The hook takes text/plain, as SNS sends it, and a password of any user', async () => {
      const mail = await sent()
      const authorization = `Basic ${Buffer.from(`bounces:${secret}`).toString('base64')}`
      const headers = { 'content-type': 'text/plain; charset=UTF-8', authorization }
      assert.equal((await post(JSON.stringify(sns(ses(mail))), headers)).status, 204)
      assert.equal((await deliveriesTo(service, mail.email))[0]!.state, 'bounced')
    })

    test('The hook answers 204 to what names no mail of ours or tells of something else', async () => {
      const nobody = { email: 'nobody@nowhere.example', messageId: '<x@y>', tag: 'x' }
      const bodies = [
        ses(nobody),
        postmark(nobody),
        mailgun(nobody),
        { notificationType: 'Delivery', mail: {}, delivery: {} },
        sns('the topic was set up'),
        { ...sns({}), Message: 'Successfully validated SNS topic' },
        { ...sns({}), Type: 'UnsubscribeConfirmation' },
        { RecordType: 'Delivery', MessageID: 'x', Recipient: 'y' },
        { 'event-data': { event: 'delivered' } },
        { 'event-data': null },
        { notificationType: 'Bounce' },
        ses({ email: 'not an address' }),
      ]
      for (const body of bodies) assert.equal((await post(body)).status, 204, JSON.stringify(body))
    })

    test('The hook refuses strangers, before it looks at what they bring', async () => {
      const mail = await sent()
      const guesses = [
        '',
        'Bearer',
        'Bearer x',
        `Bearer ${secret}x`,
        `Basic ${secret}`,
        `Bearer ${secret.slice(0, -1)}`,
        secret,
      ]
      for (const authorization of guesses) {
        const reply = await post(postmark(mail), { authorization })
        assert.deepEqual([reply.status, reply.json.code], [401, 'unauthenticated'], authorization)
        assert.match(reply.headers.get('www-authenticate')!, /^Basic/)
      }
      assert.equal((await service.post(`/hooks/bounces?secret=${secret}`, postmark(mail))).status, 401)
      assert.equal((await deliveriesTo(service, mail.email))[0]!.state, 'handed')
    })

    test('The hook refuses what it cannot read', async () => {
      const table: [body: unknown, status: number][] = [
        [{}, 400],
        [[], 400],
        ['"text"', 400],
        ['null', 400],
        ['{', 400],
        ['{"RecordType":"Bounce","RecordType":"Bounce"}', 400],
        [{ RecordType: 'Bounce', pad: 'x'.repeat(300_000) }, 413],
        [{ RecordType: 'Bounce', MessageID: 'x', pad: 'x'.repeat(200_000) }, 204],
      ]
      for (const [body, status] of table) assert.equal((await post(body)).status, status)
      assert.equal((await post('a=b', { 'content-type': 'application/x-www-form-urlencoded' })).status, 415)
      const other = await service.request('/hooks/bounces', { headers: freshNetwork() })
      assert.deepEqual([other.status, other.headers.get('allow')], [405, 'POST'])
    })

    test('A subscription of SNS is shown to the operator and never followed', async () => {
      const confirmation = (SubscribeURL: unknown) => ({
        ...sns({}),
        Type: 'SubscriptionConfirmation',
        SubscribeURL,
      })
      const link = 'https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=2336412f37f'
      assert.equal((await post(confirmation(link))).status, 204)
      assert.ok(service.log.some((line) => line.includes(link) && /open this link once/.test(line)))
      const strange = ['https://evil.example/?Token=1', 'http://sns.eu-west-1.amazonaws.com/', 'x', 7, null]
      for (const url of strange) assert.equal((await post(confirmation(url))).status, 204)
      assert.doesNotMatch(service.log.join(''), /evil\.example\/\?/)
    })

    test('A roster tells whose mail bounced for good, until a code gets through', async () => {
      const school = emptySchool()
      for (const name of ['ada', 'bob', 'eve']) addUser(school, name, 'student')
      await rosterOf(service).import(bulk(school))
      const { db } = service.app.parts
      const roster = new Roster(db, service.clock, { secrets })
      const findings = async () =>
        (await roster.plan(bulk(school))).findings
          .filter(({ code }) => code === 'address-bounced')
          .map(({ severity, value, message }) => [severity, value, message])
      for (const [name, dsn] of [
        ['ada', {}],
        ['bob', { action: 'delayed', status: '4.4.1' }],
      ] as const) {
        const email = `${name}@school.example`
        await studentCode(service, email)
        const { deliveryId } = await deliveredAs(service, email, 'handed')
        await piped({ ...dsn, envelopeId: tagOf(secrets.current, deliveryId) })
      }
      const date = new Date(service.clock.now()).toISOString().slice(0, 10)
      const message = `mail to ada@school.example bounced on ${date}; this student gets no codes until the address is corrected`
      assert.deepEqual(await findings(), [['warning', 'ada@school.example', message]])
      service.clock.advance(1_000)
      await signInStudent(service, 'ada@school.example')
      assert.deepEqual(await findings(), [])
    })
  })
}
