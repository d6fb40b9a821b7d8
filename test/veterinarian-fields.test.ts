import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { parseName } from '../src/identity/people/names.ts'
import { parseAddress } from '../src/platform/lib/address.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { type Service, startService } from './support/service.ts'

const label63 = 'a'.repeat(63)
/** An address of exactly this many octets. */
function addressOf(octets: number): string {
  const local = 'l'.repeat(64)
  const tail = '.example'
  const room = octets - local.length - 1 - tail.length
  const labels: string[] = []
  for (let left = room; left > 0; left -= 64) labels.push('d'.repeat(Math.min(63, left)))
  return `${local}@${labels.join('.')}${tail}`
}

suite('Fields of a registration', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite')
  })
  after(() => service.stop())

  const register = (body: object) => service.post('/veterinarian/register', body, freshNetwork())

  const goodNames: [name: string, sent: string, kept: string][] = [
    ['one letter', 'A', 'A'],
    ['spaces around it', '  Ada \t', 'Ada'],
    ['spaces within', 'Ada Maria', 'Ada Maria'],
    ['a no-break space around it', '\u00a0Ada\u3000', 'Ada'],
    ['decomposed letters', 'Zoe\u0308', 'Zo\u00eb'],
    ['100 letters', 'x'.repeat(100), 'x'.repeat(100)],
    ['100 letters and spaces around them', ` ${'x'.repeat(100)} `, 'x'.repeat(100)],
    ['100 characters outside the basic plane', '\u{20000}'.repeat(100), '\u{20000}'.repeat(100)],
    ['200 code points that compose to 100', 'e\u0301'.repeat(100), '\u00e9'.repeat(100)],
    ['an apostrophe and a hyphen', "O'Neill-Müller", "O'Neill-Müller"],
    ['Arabic', 'عائشة', 'عائشة'],
    ['Chinese', '李雷', '李雷'],
    ['markup', '<b>Ada', '<b>Ada'],
    ['dots and digits', 'J. R. Ada 3rd', 'J. R. Ada 3rd'],
    ['a letter after a filler', '\u1160Kim', '\u1160Kim'],
    ['three letters w', 'Awww', 'Awww'],
    ['the word null', 'null', 'null'],
  ]
  for (const [name, sent, kept] of goodNames) {
    test(`A name with ${name} is kept as ${JSON.stringify(kept).slice(0, 30)}`, async () => {
      const email = freshAddress()
      assert.equal((await register({ firstname: sent, lastname: sent, email })).status, 202)
      await service.app.parts.veterinarians.settle()
      const [row] = await service.rows('select firstname, lastname from person where email = $1', [email])
      assert.deepEqual({ ...(row as object) }, { firstname: kept, lastname: kept })
    })
  }

  const badNames: [name: string, value: unknown][] = [
    ['nothing', ''],
    ['only spaces', ' \u00a0 '],
    ['101 letters', 'x'.repeat(101)],
    ['101 characters outside the basic plane', '\u{20000}'.repeat(101)],
    ['a line feed within', 'Ada\nMarsh'],
    ['a NUL', 'A\u0000da'],
    ['a delete character', 'A\u007fda'],
    ['a C1 control', 'A\u0085da'],
    ['a right-to-left override', 'Ada\u202egnp'],
    ['a left-to-right embedding', '\u202aAda'],
    ['a pop of direction', 'Ada\u202cx'],
    ['a right-to-left isolate', 'Ada\u2067x'],
    ['a pop of isolate', 'Ada\u2069x'],
    ['half a surrogate pair', 'Ada\ud800'],
    ['digits alone', '12'],
    ['signs alone', '-.\u{1f434}'],
    ['a filler of Hangul', '\u3164'],
    ['fillers and a blank', '\u115f\u1160\uffa0\u2800'],
    ['a blank hieroglyph', '\u{13441}'],
    ['a mark without a letter', '\u0301'],
    ['a slash', 'Ada/Marsh'],
    ['a full-width slash', 'Ada\uff0fMarsh'],
    ['a division slash', 'Ada\u2215Marsh'],
    ['a sign that holds a slash', '\u2105 Ada'],
    ['an @', 'ada@vets'],
    ['a full-width @', 'ada\uff20vets'],
    ['a small @', 'ada\ufe6bvets'],
    ['the start of a web address', 'Ada WWW.vets'],
    ['a web address in full width', '\uff57\uff57\uff57\uff0evets'],
    ['a web address with something unseen in it', 'w\u200dww.vets'],
    ['a web address with an ideographic dot', 'www\u3002vets'],
    ['null', null],
    ['a number', 7],
    ['a list', ['Ada']],
    ['an object', { name: 'Ada' }],
    ['true', true],
  ]
  test('Errors about names are in plain words', async () => {
    const details = async (firstname: string) =>
      (await register({ firstname, lastname: 'Marsh', email: freshAddress() })).json.errors
    assert.deepEqual(await details('12'), [
      { pointer: '#/firstname', detail: 'must have at least one letter' },
    ])
    assert.deepEqual(await details('a@b'), [
      { pointer: '#/firstname', detail: 'must not contain /, @ or www.' },
    ])
  })

  test('Names of a roster keep their own rules', () => {
    for (const name of ['12', 'Ada/Bea', '\u2105']) assert.deepEqual(parseName(name), { name })
  })

  for (const field of ['firstname', 'lastname']) {
    for (const [name, value] of badNames) {
      test(`A ${field} of ${name} is 400 and named by its pointer`, async () => {
        const names = { firstname: 'Ada', lastname: 'Marsh', [field]: value }
        const reply = await register({ ...names, email: freshAddress() })
        assert.equal(reply.status, 400)
        assert.equal(reply.json.code, 'invalid-request')
        assert.deepEqual(
          reply.json.errors.map((error: { pointer: string }) => error.pointer),
          [`#/${field}`],
        )
      })
    }
  }

  const goodAddresses: [name: string, sent: string, kept?: string][] = [
    ['a plain one', 'ada@clinic.example'],
    ['capitals', 'Ada.Marsh@Clinic.EXAMPLE'],
    ['a plus tag', 'ada+vet@clinic.example'],
    ['every character of an atom', "!#$%&'*+/=?^_`{|}~-@clinic.example"],
    ['one letter before the @', 'a@clinic.example'],
    ['64 octets before the @', `${'l'.repeat(64)}@clinic.example`],
    ['254 octets', addressOf(254)],
    ['a label of 63', `ada@${label63}.example`],
    ['a hyphen in the domain', 'ada@vet-clinic.example'],
    ['a digit in the last label', 'ada@clinic.ex4mple'],
    ['a label of digits that is not the last', 'ada@123.example'],
    ['an international domain', 'ada@tierärzte.example', 'ada@xn--tierrzte-3za.example'],
    ['an international domain in capitals', 'ada@TIERÄRZTE.example', 'ada@xn--tierrzte-3za.example'],
    ['A-labels', 'ada@xn--tierrzte-3za.example'],
    // Mail goes to the address that is compared, so nobody signs in as the owner of one that only looks alike.
    ['a Kelvin sign in the domain', 'ada@\u212aennel.example', 'ada@kennel.example'],
    ['a ligature in the domain', 'ada@sta\ufb00.example', 'ada@staff.example'],
    ['full-width letters in the domain', 'ada@\uff43linic-w.example', 'ada@clinic-w.example'],
    ['a dotless i in the domain', 'ada@clin\u0131c.example', 'ada@xn--clinc-q4a.example'],
    ['an international last label', 'ada@例え.テスト', 'ada@xn--r8jz45g.xn--zckzah'],
  ]
  for (const [name, sent, kept = sent] of goodAddresses) {
    test(`An address with ${name} is taken, answered as sent and kept for delivery`, async () => {
      const reply = await register({ firstname: 'Ada', lastname: 'Marsh', email: sent })
      assert.equal(reply.status, 202, reply.text)
      assert.equal(reply.json.email, sent)
      await service.app.parts.veterinarians.settle()
      const rows = await service.rows('select email_key from person where email_key = $1', [
        kept.toLowerCase(),
      ])
      assert.equal(rows.length, 1)
    })
  }

  test('An address is kept as typed and compared lower-cased', async () => {
    const typed = freshAddress('Mixed.Case')
    const other = typed.toUpperCase()
    const network = freshNetwork()
    await register({ firstname: 'Ada', lastname: 'Marsh', email: typed })
    const sent = await service.post('/veterinarian/send-otp', { email: other }, network)
    const mail = await service.mail.mailTo(typed)
    assert.equal(mail.to, typed)
    const reply = await service.post(
      '/veterinarian/validate-otp',
      { email: typed.toLowerCase(), otp_code: mail.code, sessionId: sent.json.sessionId },
      network,
    )
    assert.equal(reply.status, 200)
    assert.equal(reply.json.user.email, typed)
  })

  test('An international domain and its A-labels are one address', async () => {
    const local = freshAddress('idn').split('@')[0]
    const network = freshNetwork()
    await register({ firstname: 'Ada', lastname: 'Marsh', email: `${local}@bücher.example` })
    const ascii = `${local}@xn--bcher-kva.example`
    const sent = await service.post('/veterinarian/send-otp', { email: ascii }, network)
    const { code } = await service.mail.mailTo(`${local}@bücher.example`)
    const reply = await service.post(
      '/veterinarian/validate-otp',
      { email: `${local}@BÜCHER.example`, otp_code: code, sessionId: sent.json.sessionId },
      network,
    )
    assert.equal(reply.status, 200)
    assert.equal(reply.json.user.email, ascii)
  })

  const badAddresses: [name: string, value: unknown][] = [
    ['nothing', ''],
    ['only an @', '@'],
    ['no @', 'ada.clinic.example'],
    ['nothing before the @', '@clinic.example'],
    ['nothing after the @', 'ada@'],
    ['two @', 'ada@home@clinic.example'],
    ['65 octets before the @', `${'l'.repeat(65)}@clinic.example`],
    ['255 octets', addressOf(255)],
    ['a label of 64', `ada@${label63}a.example`],
    ['a dot at the start', '.ada@clinic.example'],
    ['a dot at the end of the local part', 'ada.@clinic.example'],
    ['two dots in a row', 'ada..marsh@clinic.example'],
    ['two dots in the domain', 'ada@clinic..example'],
    ['a dot at the end of the domain', 'ada@clinic.example.'],
    ['a dot at the start of the domain', 'ada@.clinic.example'],
    ['a domain without a dot', 'ada@localhost'],
    ['a hyphen at the start of a label', 'ada@-clinic.example'],
    ['a hyphen at the end of a label', 'ada@clinic-.example'],
    ['an underscore in the domain', 'ada@vet_clinic.example'],
    ['a numeric last label', 'ada@clinic.123'],
    ['an IPv4 address', 'ada@127.0.0.1'],
    ['an IPv4 address in hexadecimal', 'ada@0x7f.1'],
    ['an IPv4 address in full-width digits', 'ada@１２７.０.０.１'],
    ['an IPv4 literal', 'ada@[127.0.0.1]'],
    ['an IPv6 literal', 'ada@[IPv6:::1]'],
    ['a quoted local part', '"ada marsh"@clinic.example'],
    ['a comment', 'ada(vet)@clinic.example'],
    ['a comment in the domain', 'ada@clinic.example(vet)'],
    ['a display name', 'Ada <ada@clinic.example>'],
    ['angle brackets', '<ada@clinic.example>'],
    ['a list', 'ada@clinic.example,bea@clinic.example'],
    ['a list with semicolons', 'ada@clinic.example; bea@clinic.example'],
    ['a group', 'vets:ada@clinic.example;'],
    ['a mailto address', 'mailto:ada@clinic.example'],
    ['a space in front', ' ada@clinic.example'],
    ['a space at the end', 'ada@clinic.example '],
    ['a space within', 'ada marsh@clinic.example'],
    ['a line feed', 'ada@clinic.example\nBcc: bea@clinic.example'],
    ['a carriage return before the @', 'ada\r\n@clinic.example'],
    ['a NUL', 'ada\u0000@clinic.example'],
    ['letters outside ASCII before the @', 'adä@clinic.example'],
    ['a full-width @', 'ada＠clinic.example'],
    ['a small @', 'ada\ufe6bclinic.example'],
    ['a dotless i before the @', 'm\u0131ke@clinic.example'],
    ['a capital I with a dot before the @', 'M\u0130KE@clinic.example'],
    ['a Kelvin sign before the @', 'mi\u212ae@clinic.example'],
    ['a ligature before the @', 'sta\ufb00@clinic.example'],
    ['a Cyrillic a before the @', '\u0430da@clinic.example'],
    ['something unseen before the @', 'ada\u200b@clinic.example'],
    ['half a surrogate pair', 'ada@clin\ud800ic.example'],
    ['a port', 'ada@clinic.example:25'],
    ['a path', 'ada@clinic.example/x'],
    ['a percent escape', 'ada@clinic%2eexample'],
    ['null', null],
    ['a number', 7],
    ['a list of addresses', ['ada@clinic.example']],
    ['an object', { address: 'ada@clinic.example' }],
  ]
  for (const [name, email] of badAddresses) {
    test(`An address with ${name} is 400 wherever an address is sent`, async () => {
      const replies = [
        await register({ firstname: 'Ada', lastname: 'Marsh', email }),
        await service.post('/veterinarian/send-otp', { email }, freshNetwork()),
        await service.post(
          '/veterinarian/validate-otp',
          { email, otp_code: 123456, sessionId: 'x' },
          freshNetwork(),
        ),
      ]
      for (const reply of replies) {
        assert.equal(reply.status, 400, reply.text)
        assert.equal(reply.json.code, 'invalid-request')
        assert.deepEqual(
          reply.json.errors.map((error: { pointer: string }) => error.pointer),
          ['#/email'],
        )
      }
    })
  }
})

test('An address or a name that is much too long is refused before it is looked at', () => {
  const domain = Array.from({ length: 5_000 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join('')
  assert.equal(parseAddress(`ada@${domain}.example`), 'must have at most 254 octets')
  assert.equal(parseName('a\u0301\u0327'.repeat(3_000)), 'must have at most 100 characters')
  assert.deepEqual(parseName('e\u0301'.repeat(100)), { name: '\u00e9'.repeat(100) })
})
