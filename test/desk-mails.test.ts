/** What the help desk sees of mails to somebody who says "I got no code". */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { mailTexts } from '../src/messages/mail/templates/languages.ts'
import { engines } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { addUser, bulk } from './support/roster-school.ts'
import { rosterOf } from './support/roster-world.ts'
import { type Service, type SignedIn, startService } from './support/service.ts'
import { newStaff } from './support/staff.ts'
import { studentSchool } from './support/student-school.ts'
import { everyLanguage } from './support/texts.ts'
import { eventually, outboxEmpty } from './support/wait.ts'

interface Delivery {
  mail: string | null
  role: string
  state: string
  askedBy: string | null
  steps: { step: string }[]
}

const henry = 'henry@school.example'

for (const engine of engines)
  suite(`Mails that the help desk looks for, on ${engine}`, () => {
    let service: Service
    let staff: SignedIn
    before(async () => {
      service = await startService(engine)
      const school = studentSchool([])
      addUser(school, 'henry', 'student', { givenName: 'Henry', email: henry, enabledUser: 'false' })
      await rosterOf(service).import(bulk(school))
      staff = await newStaff(service, 'support')
    })
    after(() => service.stop())

    const get = async (path: string) => (await service.request(path, { token: staff.access })).json
    const idOf = async (email: string): Promise<string> =>
      (await get(`/staff/people?q=${encodeURIComponent(email)}`)).people[0].userId
    const mailsOf = async (userId: string): Promise<Delivery[]> =>
      (await get(`/staff/people/${userId}`)).deliveries
    /** For the limit of one notice a day, without the end of the sessions. */
    const anotherDay = () => service.app.parts.db.run('delete from notice')
    /** Asks, and returns the mail. */
    const ask = async (role: string, email: string, language = 'en') => {
      const headers = { ...freshNetwork(), 'accept-language': language }
      const before = service.mail.received.length
      assert.equal((await service.post(`/${role}/send-otp`, { email }, headers)).status, 202)
      await outboxEmpty(service)
      return service.mail.received[before]
    }

    test('A student who is not enabled is told so, in every language, by a mail on the person’s page', async () => {
      const inOneLine = (text = '') => text.replaceAll(/\s+/g, ' ')
      for (const language of everyLanguage) {
        const says = mailTexts[language].notices['not-enabled'].paragraphs('', '')[0]!
        await anotherDay()
        const mail = (await ask('student', henry.toUpperCase(), language))!
        assert.equal(mail.to, henry, 'as the school spells it')
        assert.equal(mail.code, null)
        for (const part of [mail.mail.text, mail.mail.html])
          assert.ok(inOneLine(part).includes(inOneLine(says)), String(part))
        assert.doesNotMatch(mail.mail.text!, /Henry|is not on the school/)
      }
      assert.deepEqual(
        (await mailsOf(await idOf(henry))).map(({ mail, state }) => [mail, state]),
        everyLanguage.map(() => ['not-enabled', 'handed']),
      )
      const reply = await service.post('/student/send-otp', { email: henry }, freshNetwork())
      assert.deepEqual(Object.keys(reply.json).sort(), [
        'digits',
        'expiresAt',
        'reference',
        'resendAt',
        'sessionId',
      ])
    })

    test('A notice to somebody who asked in the wrong role is on the person’s page', async () => {
      const vet = freshAddress('vet')
      await service.signIn(vet, freshNetwork())
      for (const [email, role, mail] of [
        ['ada.byron@school.example', 'veterinarian', 'is-student'],
        [vet, 'student', 'is-veterinarian'],
      ] as const) {
        await anotherDay()
        await ask(role, email)
        const found = await mailsOf(await idOf(email))
        assert.ok(found.some((one) => one.mail === mail && one.role === role && one.state === 'handed'))
      }
    })

    test('So is one about the console, which is only for staff, and one that was not sent', async () => {
      await anotherDay()
      const email = 'ada.byron@school.example'
      await ask('staff', email)
      await ask('staff', email)
      const found = (await mailsOf(await idOf(email))).filter(({ role }) => role === 'staff')
      assert.deepEqual(found.map(({ mail, state }) => [mail, state]).sort(), [
        ['not-staff', 'handed'],
        ['not-staff', 'not-sent'],
      ])
    })

    test('Somebody’s own export has the notices to their address', async () => {
      const vet = freshAddress('vet')
      const { access } = await service.signIn(vet, freshNetwork())
      await ask('student', vet)
      const { deliveries } = (await service.request('/veterinarian/me/export', { token: access })).json
      assert.ok(deliveries.some(({ mail }: Delivery) => mail === 'is-veterinarian'))
    })

    test('A mail to an address that nobody has belongs to nobody', async () => {
      await ask('student', 'stranger@nowhere.example')
      const { deliveries } = await get('/staff/deliveries?email=stranger@nowhere.example')
      assert.deepEqual(
        deliveries.map(({ mail, userId }: { mail: string; userId: string | null }) => [mail, userId]),
        [['not-on-roster', null]],
      )
    })

    for (const [name, send, confirm, kind] of [
      ['a new address', '/veterinarian/me/email', '/veterinarian/me/email/confirm', 'address-code'],
      ['a step-up', '/session/step-up/send-otp', '/session/step-up/validate-otp', 'step-up-code'],
    ] as const)
      test(`The code for ${name} is answered wrongly, then rightly, and used once`, async () => {
        const vet = freshAddress('vet')
        const { access, userId } = await service.signIn(vet, freshNetwork())
        const email = kind === 'address-code' ? freshAddress('moved') : vet
        const call = (path: string, body: object) =>
          service.request(path, { token: access, body, headers: freshNetwork() })
        const before = service.mail.received.length
        const { sessionId } = (await call(send, kind === 'address-code' ? { email } : {})).json
        const { code } = await eventually('the code', () => service.mail.received[before])
        const answer = (otp_code: number) => call(confirm, { otp_code, sessionId })
        const wrong = code === 999_999 ? 100_000 : code! + 1
        for (const [otp_code, status] of [
          [wrong, 401],
          [code!, 200],
          [code!, 401],
        ] as const)
          assert.equal((await answer(otp_code)).status, status)
        await outboxEmpty(service)
        const found = (await mailsOf(userId)).find(({ mail }) => mail === kind)!
        assert.equal(found.state, 'opened')
        assert.deepEqual(
          found.steps.map(({ step }) => step),
          ['queued', 'handed', 'wrong-code', 'right-code'],
        )
      })
  })
