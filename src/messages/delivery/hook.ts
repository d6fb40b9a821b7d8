import { type Keys, mac } from '../../platform/lib/secret.ts'

/** What a mail provider must know to report bounces. Derived, so that there is nothing to keep or to rotate apart. */
export function hookSecret(keys: Keys): string {
  return mac(keys.hook, 'bounces').toString('base64url')
}
