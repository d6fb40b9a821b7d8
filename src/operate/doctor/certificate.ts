import type { TLSSocket } from 'node:tls'
import { day } from '../../platform/lib/clock.ts'
import { counted } from '../../platform/lib/counted.ts'
import { type Area, bad, type Finding, good, warning } from './doctor.ts'

export interface Certificate {
  readonly validTo: number
  /** Why it is not trusted, such as CERT_HAS_EXPIRED; null if it is. */
  readonly fault: string | null
}

/** From a connection that was opened without verifying the certificate. */
export function certificateOf(socket: TLSSocket): Certificate {
  const error: unknown = socket.authorizationError
  const fault = error instanceof Error && 'code' in error ? error.code : error
  return {
    validTo: Date.parse(socket.getPeerCertificate().valid_to),
    fault: socket.authorized ? null : String(fault),
  }
}

const renewBeforeMs = 14 * day

export function checkCertificate(area: Area, { validTo, fault }: Certificate, now: number): Finding {
  const days = Math.floor((validTo - now) / day)
  if (fault === 'CERT_HAS_EXPIRED' || days < 0)
    return bad(area, `the certificate expired ${counted(Math.max(0, -days), 'day', 'days')} ago`, 'renew it')
  if (fault === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return bad(
      area,
      'the certificate is for another name',
      'use the name in the certificate, or get one for this name',
    )
  if (fault !== null)
    return bad(
      area,
      `the certificate is not trusted (${fault})`,
      'use one from a known authority with its full chain, or name your own authority in NODE_EXTRA_CA_CERTS',
    )
  if (validTo - now < renewBeforeMs)
    return warning(
      area,
      `the certificate expires in ${counted(days, 'day', 'days')}`,
      'check why it was not renewed',
    )
  return good(area, `the certificate is valid for ${counted(days, 'day', 'days')}`)
}
