/** A mail that tests the mail server. It is sent at once, not through the outbox. */
import { errorFields } from '../../platform/lib/error-fields.ts'
import { newIdAt } from '../../platform/lib/random.ts'
import { adviceOn } from './advice.ts'
import type { Transport } from './outbox.ts'

export interface TestMail {
  readonly to: string
  readonly from: string
  readonly publicUrl: string
  /** Who asked for it, such as "an operator". */
  readonly sentBy: string
  readonly now: number
}

export interface TestResult {
  readonly server: string
  readonly taken: boolean
  /** The server's reply, verbatim. */
  readonly reply: string
  /** The usual cause and remedy; null if the mail was accepted. */
  readonly advice: string | null
}

export async function sendTestMail(transport: Transport, mail: TestMail): Promise<TestResult> {
  const { to, from, publicUrl, sentBy, now } = mail
  const { server } = transport
  const text = `This is a test from Chiron at ${publicUrl}. It was sent by ${sentBy}. You do not need to do anything.\n`
  const messageId = `<test-${newIdAt(now)}@${new URL(publicUrl).hostname}>`
  const subject = 'A test from Chiron'
  try {
    const html = `<p>${text}</p>\n`
    const reply = await transport.send({ from, to, subject, text, html, messageId, language: 'en' })
    return { server, taken: true, reply, advice: null }
  } catch (error) {
    const { response, message = String(error) } = errorFields(error)
    return { server, taken: false, reply: response ?? message, advice: adviceOn(error) }
  }
}
