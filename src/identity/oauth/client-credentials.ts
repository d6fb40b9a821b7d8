/**
 * Which client calls: by a secret in the Authorization header or in the form, or a client without a secret by its id.
 * Wrong secrets are counted by network and client, so that only the network that guesses is stopped.
 */
import { OAuthError } from '../../errors.ts'
import type { Context } from '../../platform/context.ts'
import { type Client, clientOf, hasSecret, registrationOf, secretIsRight } from '../clients/clients.ts'
import type { Limits } from '../limits/limits.ts'

export interface Credentials {
  readonly clientId: string
  readonly secret: string | null
}

const badClient = () => new OAuthError('invalid_client', 'The client is unknown, or its secret is wrong.')

/** Null if the request names no client. */
export function credentialsIn(
  header: string | undefined,
  form: { client_id?: string; client_secret?: string },
): Credentials | null {
  const { client_id: clientId, client_secret: secret } = form
  if (header === undefined) {
    if (clientId === undefined && secret === undefined) return null
    if (clientId === undefined) throw badClient()
    return { clientId, secret: secret ?? null }
  }
  const basic = readBasic(header)
  if (!basic) throw badClient()
  if (secret !== undefined || (clientId !== undefined && clientId !== basic.clientId))
    throw new OAuthError('invalid_request', 'The client authenticates twice.')
  return basic
}

/** RFC 6749 §2.3.1: both parts are encoded as in a form. */
function readBasic(header: string): Credentials | null {
  const match = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(header)
  const text = match && Buffer.from(match[1]!, 'base64').toString('utf8')
  const colon = text?.indexOf(':') ?? -1
  if (!text || colon === -1) return null
  try {
    const [clientId, secret] = [text.slice(0, colon), text.slice(colon + 1)].map(decoded)
    return { clientId: clientId!, secret: secret! }
  } catch {
    return null
  }
}

const decoded = (text: string) => decodeURIComponent(text.replaceAll('+', ' '))

export interface ClientAuthDeps extends Pick<Context, 'db' | 'clock'> {
  readonly limits: Limits
}

/** Throws `invalid_client`, or too-many-requests after too many wrong secrets from this network. */
export async function authenticateClient(
  { db, clock, limits }: ClientAuthDeps,
  { clientId, secret }: Credentials,
  network: string,
): Promise<Client> {
  const at = clock.now()
  const row = await registrationOf(db, clientId)
  if (secret === null && row && !hasSecret(row.kind) && row.disabled_at === null) return clientOf(row)
  // Made-up ids share one count, or they would fill the store.
  const counted = row?.id ?? 'unknown'
  const refusal = await limits.clientRefusal(counted, network, at)
  if (refusal) throw refusal
  if (secretIsRight(row, secret ?? '', at)) return clientOf(row!)
  await limits.countWrongSecret(counted, network, at)
  throw badClient()
}
