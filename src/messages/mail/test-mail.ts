/** A mail that tests the way to the mail server, sent at once and not from the outbox. */
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
  /** What the server said, word for word. */
  readonly reply: string
  /** What usually is the matter; null if the mail was taken. */
  readonly advice: string | null
}

export async function sendTestMail(transport: Transport, mail: TestMail): Promise<TestResult> {
  const { to, from, publicUrl, sentBy, now } = mail
  const { server } = transport
  const text = `This is a test from Chiron at ${publicUrl}. It was sent by ${sentBy}, and asks nothing of you.\n`
  const messageId = `<test-${newIdAt(now)}@${new URL(publicUrl).hostname}>`
  const subject = 'A test from Chiron'
  try {
    const html = `<p>${text}</p>\n`
    const reply = await transport.send({ from, to, subject, text, html, messageId, language: 'en' })
    return { server, taken: true, reply, advice: null }
  } catch (error) {
    const { response, message = String(error) } = error as { response?: string; message?: string }
    return { server, taken: false, reply: response ?? message, advice: adviceOn(error) }
  }
}
