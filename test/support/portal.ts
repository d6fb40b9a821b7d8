/** The portal's calls, made with its cookie. */
import { freshNetwork } from './fresh.ts'
import type { Reply, Service } from './service.ts'
import { wire } from './wire.ts'

export interface SetCookie {
  readonly name: string
  readonly value: string
  /** Names in lower case; true for an attribute without a value. */
  readonly attributes: Readonly<Record<string, string | true>>
}

/** The session or device cookie, if the reply sets it. */
export function setCookie(reply: Reply, which: 'refresh' | 'device' = 'refresh'): SetCookie | undefined {
  const ofThisName = new RegExp(`^(__Host-)?chiron_${which}=`)
  const [line, another] = reply.headers.getSetCookie().filter((one) => ofThisName.test(one))
  if (another !== undefined) throw new Error('the cookie is set more than once')
  if (line === undefined) return undefined
  const [pair = '', ...rest] = line.split('; ')
  const [name = '', value = ''] = pair.split('=')
  const attributes = rest.map((attribute): [string, string | true] => {
    const [key = '', text] = attribute.split('=')
    return [key.toLowerCase(), text ?? true]
  })
  return { name, value, attributes: Object.fromEntries(attributes) }
}

/** For a Cookie header. */
export function cookieOf(reply: Reply, which?: 'refresh' | 'device'): string {
  const cookie = setCookie(reply, which)
  if (!cookie) throw new Error(`no cookie, but ${reply.status}: ${reply.text}`)
  return `${cookie.name}=${cookie.value}`
}

export interface PortalCall {
  readonly cookie?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

export function portalCall(service: Service, path: string, call: PortalCall = {}): Promise<Reply> {
  const { cookie, body, headers } = call
  return wire(service.url, `/portal${path}`, {
    method: 'POST',
    headers: {
      ...freshNetwork(),
      ...(cookie !== undefined && { cookie }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

export interface PortalSession {
  readonly reply: Reply
  readonly cookie: string
  readonly access: string
  readonly sessionId: string
  /** The body of the sign-in request. */
  readonly body: object
}

/** Registers a veterinarian if needed, and signs in through the portal. */
export async function signInByPortal(
  service: Service,
  email: string,
  headers: Record<string, string> = {},
): Promise<PortalSession> {
  await service.register(email)
  const { sessionId, code } = await service.code(email, freshNetwork())
  const body = { email, otp_code: code, sessionId }
  const reply = await portalCall(service, '/veterinarian/validate-otp', { body, headers })
  return { reply, cookie: cookieOf(reply), access: reply.json.access_token, sessionId, body }
}
