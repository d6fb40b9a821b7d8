/** Whether passkeys work under the public URL, and whether a change of their host has lost some. */
import { isIP } from 'node:net'
import { bad, type Finding, good, warning } from './doctor.ts'

const area = 'passkeys'

export interface PasskeyFacts {
  readonly enabled: boolean
  readonly publicUrl: string
  readonly rpId: string
  readonly staffMustUse: boolean
  /** Passkeys in the store, by the host they belong to; null if it cannot be read. */
  readonly counts: readonly { readonly rp_id: string; readonly count: number }[] | null
  readonly adminHasOne: boolean
}

export function checkPasskeys({
  enabled,
  publicUrl,
  rpId,
  staffMustUse,
  counts,
  adminHasOne,
}: PasskeyFacts): Finding[] {
  if (!enabled) return [good(area, 'switched off')]
  const { protocol, hostname } = new URL(publicUrl)
  // Browsers trust localhost without https.
  if (isIP(hostname.replace(/^\[|\]$/g, '')) || (protocol !== 'https:' && hostname !== 'localhost'))
    return [
      warning(
        area,
        `browsers offer no passkeys at ${publicUrl}: they need https and a name`,
        'set CHIRON_PUBLIC_URL to an https address with a host name',
      ),
    ]
  const lost = (counts ?? []).filter(({ rp_id }) => rp_id !== rpId)
  if (staffMustUse && counts && !adminHasOne)
    return [
      bad(
        area,
        'staff must use a passkey, but no admin has one: the service does not start again',
        'remove CHIRON_STAFF_PASSKEY until an admin has added one in the console',
      ),
    ]
  if (lost.length > 0) {
    const hosts = lost.map(({ rp_id, count }) => `${count} of ${rp_id}`).join(', ')
    return [
      bad(
        area,
        `they belong to ${rpId} now, so earlier ones do not work: ${hosts}`,
        `set CHIRON_PASSKEY_ID back to ${lost[0]!.rp_id}; otherwise people must add new ones`,
      ),
    ]
  }
  const count = counts?.reduce((sum, one) => sum + one.count, 0) ?? 0
  return [
    good(area, `${count} in use; they belong to ${rpId}, and changing CHIRON_PASSKEY_ID would lose them all`),
  ]
}
