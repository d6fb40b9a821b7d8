/**
 * A client asks to sign somebody out here (OpenID Connect RP-Initiated Logout 1.0). Any page can send a browser here,
 * so the reader is asked first, unless the client shows an ID token of the very session.
 */
import type { Context } from '../../platform/context.ts'
import type { By } from '../../platform/lib/by.ts'
import { type Client, clientById } from '../clients/clients.ts'
import type { SessionAndPerson, Sessions } from '../session/session.ts'
import { isRegistered, withParameters } from './authorize.ts'

const stateMax = 2_000

interface Deps extends Pick<Context, 'db'> {
  readonly sessions: Pick<Sessions, 'withRefreshToken' | 'ofIdToken' | 'end' | 'signOut'>
}

interface Request {
  readonly client: Client | null
  /** The session at the client that its ID token names. */
  readonly named: SessionAndPerson | null
  /** Where the browser goes afterwards; null if it stays. */
  readonly location: string | null
}

type Outcome =
  | { readonly location: string | null }
  | { readonly need: 'confirm'; readonly client: Client | null }

export class Logout {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** `token` is that of the portal's cookie, if there is one. */
  async answer(query: string, confirmed: boolean, token: string | undefined, by: By): Promise<Outcome> {
    const { sessions } = this.#deps
    const { client, named, location } = await this.#read(query)
    const session = token === undefined ? null : await sessions.withRefreshToken(token, null)
    if (session === null) {
      // A token that was replaced long ago still says whose session it was.
      if (token !== undefined) await sessions.signOut(token, by)
      return { location }
    }
    const isOwn = named !== null && belongs(named, session)
    if (!isOwn && !confirmed) return { need: 'confirm', client }
    // Only the client that has shown its token knows already.
    const told = isOwn ? named.client_id : null
    await sessions.end(session, 'signed-out', by, told)
    if (isOwn && named.parent_id === null) await sessions.end(named, 'signed-out', by, told)
    return { location }
  }

  /** Wrong parameters count as missing: somebody who wants to leave must be able to. */
  async #read(query: string): Promise<Request> {
    const given = new URLSearchParams(query)
    const one = (name: string) => {
      const [value, another] = given.getAll(name)
      return value && another === undefined ? value : null
    }
    const hint = one('id_token_hint')
    const token = hint === null ? null : await this.#deps.sessions.ofIdToken(hint)
    const clientId = one('client_id') ?? token?.clientId ?? null
    const isOther = token !== null && token.clientId !== clientId
    if (clientId === null || isOther) return { client: null, named: null, location: null }
    const found = await clientById(this.#deps.db, clientId)
    const client = found && found.disabledAt === null ? found : null
    return { client, named: token?.session ?? null, location: client && locationFor(client, one) }
  }
}

/** A session below this one, or one of the same person that outlives it. */
function belongs(named: SessionAndPerson, session: SessionAndPerson): boolean {
  return named.parent_id === null ? named.id === session.id : named.parent_id === session.session_id
}

function locationFor({ kind, logoutUris }: Client, one: (name: string) => string | null): string | null {
  const uri = one('post_logout_redirect_uri')
  const state = one('state')
  if (uri === null || !isRegistered(kind, logoutUris, uri)) return null
  return state === null || state.length > stateMax ? uri : withParameters(uri, { state })
}
