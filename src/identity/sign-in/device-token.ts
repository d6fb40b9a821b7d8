/**
 * A device token proves that this address has signed in on this device. It gives the device its own quota of codes,
 * which no stranger can use up, and nothing else. It contains the device id, the time of issue and a MAC over both with
 * role and address, so nothing is stored.
 */
import { timingSafeEqual } from 'node:crypto'
import { day } from '../../platform/lib/clock.ts'
import { isId } from '../../platform/lib/random.ts'
import { type Keys, mac } from '../../platform/lib/secret.ts'

export const deviceTokenTtlMs = 400 * day

export interface DeviceSubject {
  readonly role: string
  readonly addressKey: string
}

const shape = /^([A-Za-z0-9_-]{22,30})\.([0-9a-z]{1,9})\.([A-Za-z0-9_-]{43})$/

export function deviceToken(keys: Keys, subject: DeviceSubject, deviceId: string, now: number): string {
  const issued = now.toString(36)
  return `${deviceId}.${issued}.${proof(keys, subject, deviceId, issued).toString('base64url')}`
}

/** The device id, or null if the token is not ours, for another address or too old. */
export function readDeviceToken(
  allKeys: readonly Keys[],
  subject: DeviceSubject,
  token: string,
  now: number,
): string | null {
  const [, deviceId, issued, given] = shape.exec(token) ?? []
  if (!deviceId || !issued || !given || !isId(deviceId)) return null
  const givenProof = Buffer.from(given, 'base64url')
  const isOurs = allKeys.some((keys) => timingSafeEqual(proof(keys, subject, deviceId, issued), givenProof))
  return isOurs && Number.parseInt(issued, 36) + deviceTokenTtlMs > now ? deviceId : null
}

function proof(keys: Keys, { role, addressKey }: DeviceSubject, deviceId: string, issued: string): Buffer {
  return mac(keys.device, role, addressKey, deviceId, issued)
}
