/** Members of staff for tests. */

import { parseAddress } from '../../src/platform/lib/address.ts'
import { byOperator } from '../../src/platform/lib/by.ts'
import type { Right } from '../../src/roles.ts'
import { freshAddress, freshNetwork } from './fresh.ts'
import type { Service, SignedIn } from './service.ts'

export async function addStaff(
  service: Service,
  may: readonly Right[],
  email = freshAddress('staff'),
): Promise<{ email: string; userId: string }> {
  const address = parseAddress(email)
  if (typeof address === 'string') throw new Error(address)
  const names = { firstname: 'Grace', lastname: 'Hopper' }
  const { userId } = await service.app.parts.staff.add(address, { ...names, may }, byOperator)
  return { email, userId }
}

export async function signInStaff(service: Service, email: string): Promise<SignedIn> {
  const network = freshNetwork()
  const before = service.mail.received.filter(({ to }) => to === email).length
  const sent = await service.post('/staff/send-otp', { email }, network)
  if (sent.status !== 202) throw new Error(`send-otp answered ${sent.status}: ${sent.text}`)
  const { code } = await service.mail.mailTo(email, before + 1)
  const answer = { email, otp_code: code, sessionId: sent.json.sessionId }
  const reply = await service.post('/staff/validate-otp', answer, network)
  if (reply.status !== 200) throw new Error(`validate-otp answered ${reply.status}: ${reply.text}`)
  const { access_token: access, refresh_token: refresh, user } = reply.json
  return { access, refresh, sessionId: sent.json.sessionId, userId: user.userId }
}

export async function newStaff(service: Service, ...may: Right[]): Promise<SignedIn> {
  return signInStaff(service, (await addStaff(service, may)).email)
}
