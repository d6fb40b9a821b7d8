/** The two requests of a sign-in, as each service wants them, and what right answers to them are. */
import { fromNetwork, json, wire } from './http.ts'
import type { Traffic } from './orders.ts'
import { sendOtp, verifyOtp } from './peers/better-auth/peer.ts'
import { authWithOtp, requestOtp } from './peers/pocketbase/peer.ts'

export interface Flow {
  /** `network` is a number of its own for whoever signs in. */
  send(email: string, network: number): string
  /** What the answer to the code needs besides it; null if the reply is not the right one. */
  sent(reply: string): string | null
  validate(email: string, code: string, session: string, network: number): string
  isSignedIn(reply: string): boolean
}

type Name = Extract<Traffic, { kind: 'sign-ins' }>['flow']

const ok = (reply: string) => reply.startsWith('HTTP/1.1 200 ')

function post(action: string, network: number, body: string): string {
  const headers = { ...json, ...fromNetwork(network) }
  return wire({ method: 'POST', path: `/veterinarian/${action}`, headers, body })
}

export const flows: Record<Name, Flow> = {
  chiron: {
    send: (email, network) => post('send-otp', network, `{"email":"${email}"}`),
    sent: (reply) => (reply.startsWith('HTTP/1.1 202 ') && /"sessionId":"([^"]+)"/.exec(reply)?.[1]) || null,
    validate: (email, code, sessionId, network) =>
      post('validate-otp', network, `{"email":"${email}","otp_code":${code},"sessionId":"${sessionId}"}`),
    isSignedIn: (reply) => ok(reply) && reply.includes('"access_token":"'),
  },
  'better-auth': {
    send: (email) => wire(sendOtp(email)),
    sent: (reply) => (ok(reply) && reply.includes('"success":true') ? '-' : null),
    validate: (email, code) => wire(verifyOtp(email, code)),
    isSignedIn: (reply) => ok(reply) && reply.includes('"token":"'),
  },
  pocketbase: {
    send: (email) => wire(requestOtp(email)),
    sent: (reply) => (ok(reply) && /"otpId":"([^"]+)"/.exec(reply)?.[1]) || null,
    validate: (_email, code, otpId) => wire(authWithOtp(otpId, code)),
    isSignedIn: (reply) => ok(reply) && reply.includes('"token":"'),
  },
}
