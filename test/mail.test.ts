import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import PostalMime from 'postal-mime'
import { mimeOf } from '../src/messages/mail/mime.ts'
import { mailTexts } from '../src/messages/mail/templates/languages.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { day, hour, minute } from '../src/platform/lib/clock.ts'
import { chooseLanguage } from '../src/platform/lib/languages.ts'
import { type Service, startService } from './support/service.ts'
import { startMailServer } from './support/smtp.ts'
import { everyLanguage } from './support/texts.ts'
import { eventually, outboxEmpty } from './support/wait.ts'

const codeRuns = (text: string) => text.match(/(?<!\d)(?:\d{6}|\d{8})(?!\d)/g) ?? []
const network = (n: number) => ({ 'X-Forwarded-For': `198.51.100.${n}` })

describe('A mail', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite')
  })
  after(() => service.stop())

  const activate = async (email: string, names: { firstname?: string; lastname?: string } = {}) => {
    await service.register(email, names)
    const signedIn = await service.code(email)
    const reply = await service.post('/veterinarian/validate-otp', {
      email,
      otp_code: signedIn.code,
      sessionId: signedIn.sessionId,
    })
    assert.equal(reply.status, 200)
    return reply.json.user.userId as string
  }

  /** Its owner confirms an account by giving the names while signed in. */
  const confirm = (userId: string) =>
    service.app.parts.db.run('update person set confirmed_at = $1 where id = $2', [
      service.clock.now(),
      userId,
    ])

  const send = async (email: string, headers: Record<string, string> = {}) => {
    const before = service.mail.received.filter((m) => m.to.toLowerCase() === email.toLowerCase()).length
    const sent = await service.post('/veterinarian/send-otp', { email }, headers)
    assert.equal(sent.status, 202)
    return { sent: sent.json, mail: await service.mail.mailTo(email, before + 1) }
  }

  test('is multipart/alternative, from the sender set, marked as automatic, and about its reference', async () => {
    await service.register('form@vets.example')
    const { sent, mail } = await send('form@vets.example')
    assert.match(mail.raw, /^Content-Type: multipart\/alternative;/m)
    assert.match(mail.raw, /^Content-Type: text\/plain; charset=utf-8/m)
    assert.match(mail.raw, /^Content-Type: text\/html; charset=utf-8/m)
    assert.match(mail.raw, /^Auto-Submitted: auto-generated\r$/m)
    assert.match(mail.raw, /^From: Chiron <no-reply@chiron\.example>\r$/m)
    assert.match(mail.raw, /^Message-ID: <[^<>\s@]+@[^<>\s@]+>\r$/m)
    assert.match(sent.reference, /^[A-Z]{3}$/)
    assert.ok(mail.mail.subject?.includes(sent.reference))
    assert.doesNotMatch(mail.mail.subject!, /\d/)
    assert.ok(mail.mail.text?.includes(sent.reference))
    assert.equal(codeRuns(mail.mail.html ?? '')[0], String(mail.code))
  })

  test('writes its code as the only run of 6 or 8 digits of the plain part, in every language and length', async () => {
    for (const [i, language] of everyLanguage.entries()) {
      const email = `digits-${language}@vets.example`
      await activate(email)
      const { mail } = await send(email, { 'Accept-Language': language, ...network(i + 1) })
      assert.deepEqual(codeRuns(mail.mail.text!), [String(mail.code)])
      assert.match(String(mail.code), /^[1-9]\d{5}$/)
      assert.ok(!mail.mail.subject!.includes(String(mail.code)))
    }
    const email = 'digits@vets.example'
    await activate(email)
    for (let i = 0; i < 4; i++) {
      const { sent, mail } = await send(email, network(10))
      const wrong = mail.code === 999_999 ? 999_998 : mail.code! + 1
      const body = { email, otp_code: wrong, sessionId: sent.sessionId }
      for (let attempt = 0; attempt < 5; attempt++)
        assert.equal((await service.post('/veterinarian/validate-otp', body)).status, 401)
    }
    for (const [i, language] of everyLanguage.entries()) {
      const { sent, mail } = await send(email, { 'Accept-Language': language, ...network(i + 20) })
      assert.equal(sent.digits, 8)
      assert.deepEqual(codeRuns(mail.mail.text!), [String(mail.code)])
      assert.match(String(mail.code), /^[1-9]\d{7}$/)
    }
  })

  test('keeps its code the only run of digits when a first name holds digits too', async () => {
    const email = 'numbered@vets.example'
    await confirm(await activate(email, { firstname: 'Ada 654321' }))
    const { mail } = await send(email)
    assert.equal(codeRuns(mail.mail.text!).length, 1)
  })

  for (const language of everyLanguage) {
    const { code, notices } = mailTexts[language]
    test(`is in ${language} when Accept-Language asks for it, with or without a code`, async () => {
      const headers = { 'Accept-Language': `${language};q=0.8, it` }
      await service.register(`${language}@vets.example`)
      const known = await send(`${language}@vets.example`, headers)
      assert.equal(known.mail.mail.subject, code.subject(known.sent.reference))
      assert.match(known.mail.mail.html!, new RegExp(`<html lang="${language}">`))
      assert.match(known.mail.raw, new RegExp(`^Content-Language: ${language}\r$`, 'm'))
      const unknown = await send(`nobody-${language}@vets.example`, headers)
      assert.equal(unknown.mail.mail.subject, notices['no-account'].subject(unknown.sent.reference))
      assert.deepEqual(codeRuns(unknown.mail.mail.text!), [])
    })
  }

  test('is in German for a browser set to Austrian German, in both parts', async () => {
    await service.register('vienna@vets.example')
    const { mail } = await send('vienna@vets.example', { 'Accept-Language': 'de-AT,de;q=0.9' })
    assert.match(mail.raw, /^Content-Language: de\r$/m)
    for (const part of [mail.mail.text, mail.mail.html])
      assert.match(part!, /Guten Tag,.*hier ist Ihr Code für die Anmeldung bei Chiron:/s)
  })

  test('greets a veterinarian by the first name that its owner confirmed', async () => {
    await confirm(await activate('active@vets.example', { firstname: 'Grace' }))
    const { mail } = await send('active@vets.example')
    assert.match(mail.mail.text!, /^Hello Grace,\n/)
    assert.match(mail.mail.html!, />Hello Grace,</)
  })

  test('holds no name that somebody gave the address without being signed in', async () => {
    const firstname = 'Your account is at risk, phone 555 01 99 and read out the code'
    await activate('lured@vets.example', { firstname })
    const { mail } = await send('lured@vets.example')
    assert.match(mail.mail.text!, /^Hello,\n/)
    assert.match(mail.mail.html!, />Hello,</)
    assert.doesNotMatch(mail.raw, /at risk|555 01 99/)
  })

  test('to a pending address holds a code and no text from any request', async () => {
    await service.register('pending@vets.example', { firstname: 'Zebedee', lastname: 'Quagmire' })
    const { mail } = await send('pending@vets.example', { 'User-Agent': 'Xylophone/1.0' })
    assert.match(mail.mail.text!, /^Hello,\n/)
    assert.notEqual(mail.code, null)
    assert.doesNotMatch(mail.raw, /Zebedee|Quagmire|Xylophone/)
  })

  test('to an unknown address says how to register, with no code and no text from any request', async () => {
    const { mail } = await send('unknown@vets.example', { 'User-Agent': 'Xylophone/1.0', Referer: '//x.ylo' })
    assert.match(mail.mail.text!, /no veterinarian account for it/)
    assert.match(mail.mail.text!, /register first/)
    assert.equal(mail.code, null)
    for (const part of [mail.mail.text!, mail.mail.html!, mail.mail.subject!])
      assert.doesNotMatch(part, /unknown@|Xylophone|ylo|Hello/)
  })

  test('to a suspended account says so, without a code', async () => {
    const userId = await activate('suspended@vets.example', { firstname: 'Zebedee' })
    await confirm(userId)
    assert.ok(await service.app.parts.support.suspend(userId, 'a test', byOperator))
    const { mail } = await send('suspended@vets.example')
    assert.match(mail.mail.text!, /account is suspended/)
    assert.equal(mail.code, null)
    assert.doesNotMatch(mail.raw, /Zebedee|Marsh|Hello/)
  })

  test('to an account goes to the spelling on record, pending or active', async () => {
    await service.register('Spelled.As@vets.example')
    assert.equal((await send('spelled.as@vets.example')).mail.to, 'Spelled.As@vets.example')
    await activate('Other.Case@vets.example')
    assert.equal((await send('OTHER.CASE@VETS.EXAMPLE')).mail.to, 'Other.Case@vets.example')
  })

  test('without a code goes at most once a day to an address, and the replies do not show it', async () => {
    const email = 'stranger@vets.example'
    const shape = ({ sent }: { sent: object }) => Object.keys(sent).sort()
    const first = await send(email)
    for (const wait of [0, 20 * minute, 12 * hour]) {
      service.clock.advance(wait)
      const sent = await service.post('/veterinarian/send-otp', { email: email.toUpperCase() })
      assert.equal(sent.status, 202)
      assert.deepEqual(shape({ sent: sent.json }), shape(first))
      await outboxEmpty(service)
    }
    assert.equal(service.mail.received.filter((m) => m.to.toLowerCase() === email).length, 1)
    service.clock.advance(day)
    await send(email)
  })

  test('escapes a name in its HTML part and makes no link of one', async () => {
    await confirm(await activate('escape@vets.example', { firstname: `<b>&"'` }))
    const escaped = await send('escape@vets.example')
    assert.ok(escaped.mail.mail.text!.startsWith(`Hello <b>&"',`))
    assert.ok(escaped.mail.mail.html!.includes('Hello &lt;b&gt;&amp;&quot;&#39;,'))
    await confirm(await activate('link@vets.example', { firstname: 'elsewhere.example' }))
    const linked = await send('link@vets.example')
    assert.doesNotMatch(linked.mail.raw, /elsewhere/)
  })
})

test('A mail goes as it is if it is short lines of ASCII, and as quoted-printable if not', () => {
  const encodings = (text: string) => {
    const message = { subject: 'Code', text, html: '<p>x</p>\n', from: 'a@b.example', to: 'c@d.example' }
    const mail = mimeOf({ ...message, messageId: '<m@b.example>', language: 'en' }, new Date(0))
    return [...mail.matchAll(/^Content-Transfer-Encoding: (.*)\r$/gm)].map((match) => match[1])
  }
  assert.deepEqual(encodings('Plain.\nLines.\n'), ['7bit', '7bit'])
  for (const text of ['Élan\n', 'a'.repeat(1_000), 'a tab\there\n'])
    assert.deepEqual(encodings(text), ['quoted-printable', '7bit'])
})

test('A mail says on arrival what it said at first, in whatever letters, and no line of it is too long', async () => {
  const letters = fc.string({
    unit: fc.constantFrom('a', 'é', '獣', '🐎', '=', ' ', '.', '7', '\t', "'"),
    maxLength: 400,
  })
  const lines = fc.array(letters.map((line) => `x${line}`)).map((all) => `${all.join('\n')}\n`)
  await fc.assert(
    fc.asyncProperty(letters, lines, lines, async (subject, text, html) => {
      const message = {
        subject: `x${subject}y`,
        text,
        html,
        from: 'Žofie “Z” <a@b.example>',
        to: 'c@d.example',
      }
      const raw = mimeOf({ ...message, messageId: '<m@b.example>', language: 'en' }, new Date(0))
      assert.match(raw, /^(?:[\x20-\x7e]{0,998}\r\n)+$/)
      const mail = await PostalMime.parse(raw)
      assert.equal(mail.subject, message.subject)
      assert.deepEqual(mail.from, { name: 'Žofie “Z”', address: 'a@b.example' })
      assert.equal(mail.text?.trimEnd(), text.trimEnd())
      assert.equal(mail.html?.trimEnd(), html.trimEnd())
    }),
  )
})

test('A code is whole in the mail as it goes over the wire, and no header or boundary could be taken for one', () => {
  for (const [text, encoding] of [
    ['Code:\n\n    123456\n', '7bit'],
    [`Élan${'é'.repeat(200)}:\n\n    123456\n`, 'quoted-printable'],
  ] as const) {
    const message = { subject: 'Élan', text, html: '<p>x</p>\n', from: 'a@b.example', to: 'c@d.example' }
    const mail = mimeOf({ ...message, messageId: '<m@b.example>', language: 'en' }, new Date(0))
    assert.ok(mail.includes(`: ${encoding}\r\n`))
    assert.ok(mail.includes('\r\n    123456\r\n'))
    assert.deepEqual(codeRuns(mail), ['123456'])
  }
})

test('No value of a mail begins a header of its own', () => {
  const evil = 'x\r\nBcc: all@b.example'
  const message = { subject: evil, text: 'x\n', html: 'x\n', from: `${evil} <a@b.example>`, to: evil }
  const mail = mimeOf({ ...message, messageId: `<${evil}>`, language: evil }, new Date(0))
  assert.doesNotMatch(mail, /^Bcc:/m)
})

test('The language of a mail is the best of Accept-Language that there is', () => {
  const table: [header: string | undefined, language: string][] = [
    [undefined, 'en'],
    ['', 'en'],
    ['fr', 'fr'],
    ['FR-ca', 'fr'],
    ['es-419, en;q=0.5', 'es'],
    ['it, fr;q=0.4, es;q=0.6', 'es'],
    ['de-AT,de;q=0.9', 'de'],
    ['en;q=0.1, fr;q=0.9', 'fr'],
    ['fr;q=0, es;q=0.1', 'es'],
    ['fr;q=0', 'en'],
    ['fr;level=1;q=0.2, es;q=0.3', 'es'],
    ['fr ; q = 0.2 , es ; q = 0.3', 'es'],
    ['es, fr', 'es'],
    ['*', 'en'],
    ['it', 'en'],
    [';;;,,,===', 'en'],
    ['constructor, __proto__', 'en'],
    ['\u0000\uffff, fr', 'fr'],
  ]
  for (const [header, language] of table) assert.equal(chooseLanguage(header), language, String(header))
})

test('A mail that failed after it was written goes out again under the same Message-ID', async () => {
  const ids: string[] = []
  const mail = await startMailServer({
    onData(stream, _session, callback) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk) => chunks.push(chunk))
      stream.on('end', () => {
        ids.push(/^Message-ID: (.*)\r$/m.exec(Buffer.concat(chunks).toString())![1]!)
        callback(ids.length === 1 ? Object.assign(new Error('later'), { responseCode: 451 }) : null)
      })
    },
  })
  const service = await startService('sqlite', { mail })
  try {
    await service.register('again@vets.example')
    assert.equal((await service.post('/veterinarian/send-otp', { email: 'again@vets.example' })).status, 202)
    await eventually('the first try', () => ids.length === 1)
    await eventually('the second try', () => {
      service.clock.advance(1_000)
      return ids.length === 2
    })
    assert.equal(ids[0], ids[1])
    await outboxEmpty(service)
  } finally {
    await service.stop()
    await mail.close()
  }
})

test('A mail to a suspended account goes to the spelling on record also when it is tried again', async () => {
  let refuse = false
  const mail = await startMailServer({
    onRcptTo(_address, _session, callback) {
      const refused = refuse ? Object.assign(new Error('later'), { responseCode: 451 }) : null
      refuse = false
      callback(refused)
    },
  })
  const service = await startService('sqlite', { mail })
  try {
    const { userId } = await service.signIn('On.Record@vets.example')
    await service.app.parts.support.suspend(userId, 'a test', byOperator)
    refuse = true
    assert.equal(
      (await service.post('/veterinarian/send-otp', { email: 'on.record@vets.example' })).status,
      202,
    )
    await eventually('a refusal', () => !refuse)
    const second = await eventually('the second try', () => {
      service.clock.advance(1_000)
      return mail.received[1]
    })
    assert.match(second.mail.text!, /suspended/)
    assert.equal(second.to, 'On.Record@vets.example')
  } finally {
    await service.stop()
    await mail.close()
  }
})
