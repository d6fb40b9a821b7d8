import { bad, type Finding, good, warning } from './doctor.ts'

export interface SettingsFacts {
  readonly production: boolean
  /** What would stop the start in production, or null. */
  readonly inProduction: string | null
  readonly limits: boolean
  readonly publicUrl: string
  readonly trustsProxies: boolean
  readonly hasPreviousSecret: boolean
}

export function checkSettings(facts: SettingsFacts): Finding[] {
  const findings: Finding[] = []
  if (facts.inProduction !== null)
    findings.push(
      warning(
        'settings',
        `not ready for production: ${facts.inProduction}`,
        'set it before real people use it',
      ),
    )
  else if (facts.production) findings.push(good('settings', 'complete for production'))
  else
    findings.push(
      warning(
        'settings',
        'NODE_ENV is not production, although the settings are ready for it',
        'set NODE_ENV=production',
      ),
    )
  if (!facts.limits)
    findings.push(bad('settings', 'limits are off: codes can be guessed', 'remove CHIRON_LIMITS'))
  if (facts.publicUrl.startsWith('https:') && !facts.trustsProxies)
    findings.push(
      bad(
        'proxy',
        'the public URL is https, which needs a proxy in front, but CHIRON_TRUSTED_PROXIES is empty: all callers share the limits of one network',
        'set CHIRON_TRUSTED_PROXIES to the address of the proxy',
      ),
    )
  if (facts.hasPreviousSecret)
    findings.push(
      warning(
        'settings',
        'CHIRON_SECRET_PREVIOUS is set: tokens and secrets from the old secret are still accepted',
        'remove it 90 days after the change',
      ),
    )
  return findings
}

export function settingsRefused(message: string): Finding {
  return bad('settings', message, 'correct it; docs/settings.md describes every setting')
}
