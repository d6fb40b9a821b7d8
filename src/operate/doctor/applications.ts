/** Who may sign in at applications, whether they are told of sign-outs, and whether people return to safe addresses. */
import { type Clients, redirectFault } from '../../identity/clients/clients.ts'
import { counted } from '../../platform/lib/counted.ts'
import { type Finding, good, warning } from './doctor.ts'

const area = 'applications'

type Application = Awaited<ReturnType<Clients['list']>>[number]

export function checkApplications(all: readonly Application[], production: boolean): Finding[] {
  const enabled = all.filter((one) => one.enabled)
  const findings = [
    ...enabled.flatMap((one) => unsafeAddress(one, production)),
    ...enabled.flatMap(undecided),
    ...enabled.flatMap(failedCalls),
  ]
  if (findings.length > 0) return findings
  if (all.length === 0) return [good(area, 'none is registered')]
  const off = all.length - enabled.length
  return [good(area, `${all.length} registered${off > 0 ? `, ${off} disabled` : ''}`)]
}

/** Some that were registered before the service went into production. */
function unsafeAddress({ clientId, name, kind, redirectUris }: Application, production: boolean): Finding[] {
  const unsafe = redirectUris.find((uri) => redirectFault(uri, kind, production) !== null)
  if (unsafe === undefined) return []
  return [
    warning(
      area,
      `people return from signing in to ${name} at ${unsafe}, which is not accepted in production`,
      `run chiron clients change ${clientId} --redirect with an https address, or remove it`,
    ),
  ]
}

/** Anybody can register as a veterinarian. */
function undecided({ clientId, name, unverifiedVeterinarians }: Application): Finding[] {
  if (unverifiedVeterinarians !== null) return []
  return [
    warning(
      area,
      `veterinarians whom nobody has verified can sign in to ${name}, which was registered before this could be chosen`,
      `run chiron clients change ${clientId} --no-unverified-veterinarians, or --unverified-veterinarians to keep it so`,
    ),
  ]
}

function failedCalls({ clientId, name, calls }: Application): Finding[] {
  if (calls.failed === 0) return []
  const failed = counted(calls.failed, 'back-channel call', 'back-channel calls')
  return [
    warning(
      area,
      `${failed} to ${name} failed in the last 7 days, so people may still be signed in there`,
      `chiron clients show ${clientId} shows why`,
    ),
  ]
}
