import { type Keys, mac } from '../../platform/lib/secret.ts'

/**
 * The secret that a mail provider needs to report bounces. Derived, so there is nothing to store or rotate separately.
 */
export function hookSecret(keys: Keys): string {
  return mac(keys.hook, 'bounces').toString('base64url')
}
