/**
 * The service as callers reach it, through its proxy. Whether the proxy is trusted shows in the limits: a request to
 * validate-otp for no session is counted for the network that the service believes it came from, and the store shows
 * which one that was. The request does nothing that any visitor's could not.
 */
import { randomInt } from 'node:crypto'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { connect as connectTls } from 'node:tls'
import type { Db } from '../../platform/db/db.ts'
import { isTrusted, networkOf, type Range } from '../../platform/lib/network.ts'
import { reasonOf } from '../../platform/lib/reason.ts'
import { fingerprint, type Secrets } from '../../platform/lib/secret.ts'
import { type Certificate, certificateOf, checkCertificate } from './certificate.ts'
import { checkClock } from './clock.ts'
import { bad, type Finding, good, warning } from './doctor.ts'
import { bucketMarks } from './store.ts'

const patienceMs = 10_000

export interface Inside {
  readonly db: Pick<Db, 'all' | 'one'>
  readonly secrets: Secrets
  readonly kids: readonly string[]
  readonly trustedProxies: readonly Range[]
  readonly limits: boolean
}

/** `inside` is null if the store is unreachable. */
export async function checkOutside(
  url: string,
  publicUrl: string,
  inside: Inside | null,
  clock: () => number,
): Promise<Finding[]> {
  const findings = await checkTls(url, clock())
  if (findings.some(({ state }) => state === 'bad')) return findings
  let reply: Response
  try {
    reply = await call(`${url}/.well-known/jwks.json`)
  } catch (error) {
    const remedy = `make sure that the proxy is running and forwards requests to CHIRON_HOST and CHIRON_PORT, ${spelling}`
    return [...findings, bad('public url', `${url} is unreachable: ${reasonOf(error)}`, remedy)]
  }
  const date = Date.parse(reply.headers.get('date') ?? '')
  if (!Number.isNaN(date)) findings.push(checkClock({ whose: url, now: date, ours: clock() }))
  findings.push(await checkIdentity(url, publicUrl, reply, inside))
  if (inside && findings.every(({ state }) => state !== 'bad')) findings.push(await checkTrust(url, inside))
  return findings
}

function call(url: string, init: RequestInit = {}): Promise<Response> {
  return fetch(url, { ...init, signal: AbortSignal.timeout(patienceMs), redirect: 'manual' })
}

async function checkTls(url: string, now: number): Promise<Finding[]> {
  const { protocol, hostname, port } = new URL(url)
  if (protocol !== 'https:')
    return [
      warning(
        'public url',
        `${url} is not https`,
        'put a proxy with TLS in front; docs/operating.md shows how',
      ),
    ]
  try {
    return [checkCertificate('public url', await certificateAt(hostname, Number(port || 443)), now)]
  } catch (error) {
    return [
      bad(
        'public url',
        `no TLS at ${url}: ${reasonOf(error)}`,
        `make sure that the proxy is running and has a certificate, ${spelling}`,
      ),
    ]
  }
}

function certificateAt(host: string, port: number): Promise<Certificate> {
  return new Promise((resolve, reject) => {
    const socket = connectTls(
      { host, port, servername: host, rejectUnauthorized: false, timeout: patienceMs },
      () => {
        resolve(certificateOf(socket))
        socket.destroy()
      },
    )
    socket.on('error', reject)
    socket.on('timeout', () => socket.destroy(new Error('no answer in time')))
  })
}

const spelling = 'and that CHIRON_PUBLIC_URL is what people type, letter by letter'

/** Sign-ins work only from pages at the address that the service believes to be its own. */
async function checkIdentity(
  url: string,
  publicUrl: string,
  reply: Response,
  inside: Inside | null,
): Promise<Finding> {
  const remedy = `check which program the proxy forwards requests to, ${spelling}`
  const { keys } = (await reply.json().catch(() => ({}))) as { keys?: { kid?: string }[] }
  if (!reply.ok || !Array.isArray(keys))
    return bad('public url', `${url} answers ${reply.status}, but not as Chiron does`, remedy)
  const issuer = await issuerAt(url)
  if (issuer !== url)
    return bad(
      'public url',
      `the service at ${url} is configured as ${issuer}: nobody can sign in at ${url}`,
      'set CHIRON_PUBLIC_URL to what people type, and start the service again',
    )
  if (issuer !== publicUrl)
    return bad(
      'public url',
      `these settings have CHIRON_PUBLIC_URL=${publicUrl}, the running service has ${issuer}`,
      'use the settings of the service, or restart it',
    )
  if (!inside) return good('public url', `${url} answers as Chiron does`)
  const shared = keys.some(({ kid }) => kid !== undefined && inside.kids.includes(kid))
  if (!shared)
    return bad('public url', `${url} is a different Chiron: its keys are not those of this store`, remedy)
  return good('public url', `${url} answers with the keys of this store`)
}

async function issuerAt(url: string): Promise<string> {
  const reply = await call(`${url}/.well-known/oauth-authorization-server`)
  const { issuer } = (await reply.json().catch(() => ({}))) as { issuer?: unknown }
  return String(issuer)
}

async function checkTrust(url: string, inside: Inside): Promise<Finding> {
  if (!inside.limits) return warning('proxy', 'unknown, because limits are off', 'remove CHIRON_LIMITS')
  const madeUp = `198.51.100.${randomInt(1, 255)}`
  const here = [
    '127.0.0.1',
    '::1',
    ...Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address)),
  ]
  const keyOf = (address: string) =>
    `${fingerprint(inside.secrets.current, 'network', networkOf(address))}:validate-otp`
  const keys = [madeUp, ...here].map(keyOf)
  const before = await bucketMarks(inside.db, keys)
  await call(`${url}/veterinarian/validate-otp`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': madeUp },
    body: JSON.stringify({ email: 'doctor@chiron.example', otp_code: 100_000, sessionId: 'none' }),
  })
  const after = await bucketMarks(inside.db, keys)
  const counted = [madeUp, ...here].find(
    (address) => after.get(keyOf(address)) !== before.get(keyOf(address)),
  )
  if (counted === undefined)
    return good('proxy', 'a call is counted neither for this machine nor for a forged address')
  const own = await ownAddressTo(url)
  if (counted === madeUp) return believed(isTrusted(own, inside.trustedProxies))
  if (isTrusted(counted, inside.trustedProxies)) return unclear
  if (counted === own && inside.trustedProxies.length > 0)
    return good('proxy', 'a call is counted for the machine that it comes from')
  return bad(
    'proxy',
    `the proxy at ${counted} is not trusted: all callers count as one network and share its limits`,
    `add ${counted} to CHIRON_TRUSTED_PROXIES, and let the proxy send X-Forwarded-For`,
  )
}

const unclear = warning(
  'proxy',
  'this machine is trusted as a proxy, so a call from here cannot show what strangers can do',
  'use the public name of the service, or make sure that the proxy adds the caller to X-Forwarded-For',
)

/** A forged address is counted. That is right for a call from a proxy; otherwise anyone can choose their network. */
function believed(isProxy: boolean): Finding {
  if (isProxy) return unclear
  return bad(
    'proxy',
    'a forged X-Forwarded-For is believed: anyone can bypass the limits',
    'let the proxy add the caller’s address to X-Forwarded-For, and trust no wider range than the proxy’s own',
  )
}

/** From which address this machine calls. */
function ownAddressTo(url: string): Promise<string> {
  const { hostname, port, protocol } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(
      { host: hostname, port: Number(port || (protocol === 'https:' ? 443 : 80)), timeout: patienceMs },
      () => {
        resolve(socket.localAddress ?? '')
        socket.destroy()
      },
    )
    socket.on('error', reject)
    socket.on('timeout', () => socket.destroy(new Error('no answer in time')))
  })
}
