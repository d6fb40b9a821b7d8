/** Clients for tests. */
import { accessTtlMs } from '../../src/identity/session/session.ts'
import { always } from '../../src/platform/db/db.ts'
import { bySystem } from '../../src/platform/lib/by.ts'
import { newId } from '../../src/platform/lib/random.ts'
import type { Role } from '../../src/roles.ts'
import type { Service, SignedIn } from './service.ts'

export async function addClient(
  service: Service,
  { kind = 'service', scopes = 'roster.read events.read' }: { kind?: string; scopes?: string } = {},
): Promise<string> {
  const id = newId()
  await service.app.parts.db.run(
    `insert into client (id, name, kind, redirect_uris, logout_uris, scopes, roles, consent, pkce, claims_in_id_token, created_at)
     values ($1, $2, $3, '[]', '[]', $4, 'veterinarian student staff', 'never', 1, 0, $5)`,
    [id, `Client ${id}`, kind, scopes, service.clock.now()],
  )
  return id
}

/** Chiron's own interface. */
const audienceOf = ({ url }: Service) => url.replace('127.0.0.1', 'localhost')

/** A token that the client has for itself. */
export async function serviceToken(service: Service, clientId: string, scope: string): Promise<string> {
  const jti = newId()
  await service.app.parts.db.run(
    'insert into service_token (id, client_id, scope, expires_at) values ($1, $2, $3, $4)',
    [jti, clientId, scope, service.clock.now() + accessTtlMs],
  )
  const { sessions } = service.app.parts
  return sessions.accessToken({ sub: clientId, jti, clientId, audience: audienceOf(service), scope })
}

/** A token of a client for somebody who is signed in. */
export async function clientToken(
  service: Service,
  { clientId, scope, role, from }: { clientId: string; scope: string; role: Role; from: SignedIn },
): Promise<string> {
  const { sessions, db } = service.app.parts
  const id = newId()
  const session = {
    id,
    clientId,
    scope,
    startedFrom: from.sessionId,
    offline: false,
    now: service.clock.now(),
  }
  await db.tx(sessions.startAtClient(session, role, bySystem, always))
  const about = { sub: from.userId, sid: id, roles: [role], jti: newId(), clientId, scope }
  return sessions.accessToken({ ...about, audience: audienceOf(service) })
}
