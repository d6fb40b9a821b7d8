/** Whether the service is running, and whether it is the one listening on its port. */
import { errorFields } from '../../platform/lib/error-fields.ts'
import { reasonOf } from '../../platform/lib/reason.ts'
import { bad, type Finding, good } from './doctor.ts'

const area = 'service'
const patienceMs = 5_000

export interface ServiceAt {
  readonly host: string
  readonly port: number
  /** The name for systemctl. */
  readonly unit: string
  /** Ids of the keys in the store; null if it cannot be read. */
  readonly kids: readonly string[] | null
}

export async function checkService({ host, port, unit, kids }: ServiceAt): Promise<Finding[]> {
  // The system picks a port, and nobody knows which.
  if (port === 0) return []
  const at = `${host}:${port}`
  const another = (how: string) =>
    bad(
      area,
      `another program is using ${at}: ${how}`,
      `stop it ("ss -ltnp sport = :${port}" shows which), or set CHIRON_PORT; the service cannot start`,
    )
  let reply: Response
  try {
    const url = `http://${hostToCall(host)}:${port}/.well-known/jwks.json`
    reply = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(patienceMs) })
  } catch (error) {
    return [
      isRefused(error)
        ? stopped(at, unit)
        : another(`it does not answer as Chiron does (${reasonOf(error)})`),
    ]
  }
  if (!reply.headers.has('api-version'))
    return [another(`it answers ${reply.status}, but not as Chiron does`)]
  if (!reply.ok)
    return [
      bad(area, `running at ${at}, but it answers ${reply.status}`, 'check the store below and the log'),
    ]
  const { keys } = (await reply.json()) as { keys: { kid: string }[] }
  if (kids && !keys.some(({ kid }) => kids.includes(kid)))
    return [another('it is a Chiron whose keys are not those of this store')]
  return [good(area, `running at ${at}`)]
}

function stopped(at: string, unit: string): Finding {
  return bad(
    area,
    `not running: nothing is listening at ${at}`,
    `start it (systemctl start ${unit}); if it stops again, see the last lines of its log (journalctl -u ${unit})`,
  )
}

/** If it listens on all addresses, it is called on the loopback address. */
function hostToCall(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

function isRefused(error: unknown): boolean {
  const { code, cause, errors } = errorFields(error)
  if (code === 'ECONNREFUSED') return true
  return (cause !== undefined && isRefused(cause)) || (errors?.some(isRefused) ?? false)
}
