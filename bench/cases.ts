/** The requests that are measured, and the right reply to each. */
import { fromNetwork, json, wire } from './http.ts'
import { inTurn, type Load, type Request, requestLoad, type SignInFlow, signInLoad } from './load.ts'
import type { MailServer } from './mail.ts'
import type { Token } from './stores.ts'

export interface Case {
  readonly id: string
  readonly name: string
  /** Off where the service's own limit is lower than the load. */
  readonly limits: boolean
  /** The bare server replies with as many. */
  readonly replyBytes: number
  readonly load: (tokens: readonly Token[], mail: MailServer) => Load
}

const of = (role: Token['role'], tokens: readonly Token[]) => tokens.filter((token) => token.role === role)
const ok = (reply: string) => reply.startsWith('HTTP/1.1 200 ')

const get = (path: string, headers: Record<string, string>, expected: string): Request => ({
  text: wire({ method: 'GET', path, headers }),
  isRight: (reply) => ok(reply) && reply.includes(expected),
})
const bearer = (path: string, { accessToken }: Token, expected: string) =>
  get(path, { authorization: `Bearer ${accessToken}` }, expected)
const post = (path: string, network: number, body: object) =>
  wire({ method: 'POST', path, headers: { ...json, ...fromNetwork(network) }, body: JSON.stringify(body) })

/** Reads by accounts of one role, in turn. */
const reading =
  (role: Token['role'], one: (token: Token, i: number) => Request) => (tokens: readonly Token[]) =>
    requestLoad(inTurn(of(role, tokens).map(one)))

/** Every reply contains the token of the next request. */
function rotation(first: string, network: number): Request {
  let token = first
  return {
    get text() {
      return post('/session/refresh', network, { refresh_token: token })
    },
    isRight(reply) {
      const next = /"refresh_token":"([^"]+)"/.exec(reply)?.[1]
      if (!ok(reply) || next === undefined || next === token) return false
      token = next
      return true
    },
  }
}

const run = Date.now().toString(36)
let registrations = 0

function registration(): Request {
  const email = `new.${run}.${registrations++}@practice.example`
  return {
    text: post('/veterinarian/register', 0, { firstname: 'Ada', lastname: 'Marsh', email }),
    isRight: (reply) => reply.startsWith('HTTP/1.1 202 ') && reply.includes(email),
  }
}

export const signIn: SignInFlow = {
  send: (email, network) => post('/veterinarian/send-otp', network, { email }),
  sent: (reply) => (reply.startsWith('HTTP/1.1 202 ') && /"sessionId":"([^"]+)"/.exec(reply)?.[1]) || null,
  validate: (email, code, sessionId, network) =>
    post('/veterinarian/validate-otp', network, { email, otp_code: Number(code), sessionId }),
  isSignedIn: (reply) => ok(reply) && reply.includes('"access_token":"'),
}

export const cases: readonly Case[] = [
  {
    id: 'me',
    name: 'GET /veterinarian/me',
    limits: true,
    replyBytes: 250,
    load: reading('veterinarian', (token) => bearer('/veterinarian/me', token, `"userId":"${token.userId}"`)),
  },
  {
    id: 'profile',
    name: 'GET /veterinarian/{userId}',
    limits: true,
    replyBytes: 100,
    load: reading('veterinarian', ({ userId }, i) =>
      get(`/veterinarian/${userId}`, fromNetwork(i), `"userId":"${userId}"`),
    ),
  },
  {
    id: 'student',
    name: 'GET /student/me',
    limits: true,
    replyBytes: 1_000,
    load: reading('student', (token) => bearer('/student/me', token, `"userId":"${token.userId}"`)),
  },
  {
    id: 'classes',
    name: 'GET /student/me/classes, 12 classes',
    limits: true,
    replyBytes: 9_500,
    load: reading('student', (token) => bearer('/student/me/classes?when=all', token, '{"classes":[{')),
  },
  {
    id: 'refresh',
    name: 'POST /session/refresh',
    limits: true,
    replyBytes: 900,
    load: (tokens) => {
      const sessions = of('veterinarian', tokens)
      return requestLoad(inTurn(sessions.map(({ refreshToken }, i) => rotation(refreshToken, i))))
    },
  },
  {
    id: 'register',
    name: 'POST /veterinarian/register, limits off',
    limits: false,
    replyBytes: 100,
    load: () => requestLoad(registration),
  },
  {
    id: 'sign-in',
    name: 'whole sign-in: send-otp, mail, validate-otp',
    limits: true,
    replyBytes: 600,
    load: (tokens, mail) => {
      const emails = new Set(of('veterinarian', tokens).map(({ email }) => email))
      return signInLoad([...emails], signIn, mail)
    },
  },
]
