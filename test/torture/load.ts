/** What the parts that measure under load have in common. */
import assert from 'node:assert/strict'
import type { Calls } from '../support/service.ts'
import type { MailServer } from '../support/smtp.ts'

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))]!
}

/** Registers and signs in one veterinarian; returns the access token. */
export async function signInTo({ post }: Calls, mail: MailServer): Promise<string> {
  const email = 'ada.marsh@load.example'
  assert.equal(
    (await post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email })).status,
    202,
  )
  const { sessionId } = (await post('/veterinarian/send-otp', { email })).json
  const { code } = await mail.mailTo(email)
  const reply = await post('/veterinarian/validate-otp', { email, otp_code: code, sessionId })
  assert.equal(reply.status, 200, reply.text)
  return reply.json.access_token
}
