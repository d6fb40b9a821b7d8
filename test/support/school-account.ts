/** The steps of a sign-in with a school account, as a browser takes them. */
import { freshNetwork } from './fresh.ts'
import type { TestProvider } from './provider.ts'
import type { Reply, Service } from './service.ts'
import { wire } from './wire.ts'

/** The cookies that a browser keeps from replies. */
export class Jar {
  readonly #cookies = new Map<string, string>()

  note(reply: Pick<Reply, 'headers'>): void {
    for (const line of reply.headers.getSetCookie()) {
      const [pair = ''] = line.split('; ')
      const at = pair.indexOf('=')
      const [name, value] = [pair.slice(0, at), pair.slice(at + 1)]
      if (/Max-Age=0(;|$)/.test(line)) this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
  }

  set(name: string, value: string): void {
    this.#cookies.set(name, value)
  }

  get(name: string): string | undefined {
    return this.#cookies.get(name)
  }

  header(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }
}

export interface Visit {
  readonly jar: Jar
  readonly headers: Record<string, string>
}

export const newVisit = (): Visit => ({ jar: new Jar(), headers: freshNetwork() })

const cookieHeader = ({ jar }: Visit): Record<string, string> =>
  jar.header() === '' ? {} : { cookie: jar.header() }

export async function startSignIn(
  service: Service,
  providerId: string,
  visit: Visit,
  { role = 'student', body = {} }: { role?: string; body?: object } = {},
): Promise<Reply> {
  const reply = await service.post(`/portal/${role}/school/${providerId}`, body, {
    ...visit.headers,
    ...cookieHeader(visit),
  })
  visit.jar.note(reply)
  return reply
}

/** The provider's form: it sends the browser back at once. Returns the path of the callback with its query. */
export async function atProvider(location: string): Promise<string> {
  const { origin, pathname, search } = new URL(location)
  const reply = await wire(origin, pathname + search)
  const { pathname: back, search: query } = new URL(reply.headers.get('location')!)
  return back + query
}

/** A moment later than whatever happened before, so that events have an order. */
export async function comeBack(service: Service, path: string, visit: Visit): Promise<Reply> {
  service.clock.advance(1)
  const reply = await wire(service.url, path, { headers: { ...visit.headers, ...cookieHeader(visit) } })
  visit.jar.note(reply)
  return reply
}

export interface SchoolSignIn {
  readonly reply: Reply
  readonly location: string
  readonly visit: Visit
  /** By the cookie, if it worked. */
  readonly access: string | undefined
  readonly userId: string | undefined
}

/** A whole sign-in of somebody with these claims. */
export async function schoolSignIn(
  service: Service,
  provider: TestProvider,
  providerId: string,
  claims: TestProvider['claims'],
  { role, body, visit = newVisit() }: { role?: string; body?: object; visit?: Visit } = {},
): Promise<SchoolSignIn> {
  provider.claims = claims
  const started = await startSignIn(service, providerId, visit, {
    ...(role && { role }),
    ...(body && { body }),
  })
  if (started.status !== 200) throw new Error(`the start answered ${started.status}: ${started.text}`)
  const reply = await comeBack(service, await atProvider(started.json.location), visit)
  return { reply, location: reply.headers.get('location') ?? '', visit, ...(await whoAmI(service, visit)) }
}

/** Renews the session of the cookie as the portal does. */
export async function whoAmI(service: Service, visit: Visit) {
  if (!visit.jar.get('chiron_refresh')) return { access: undefined, userId: undefined }
  const renewed = await service.post('/portal/refresh', {}, { ...visit.headers, ...cookieHeader(visit) })
  visit.jar.note(renewed)
  return { access: renewed.json?.access_token, userId: renewed.json?.user?.userId }
}
