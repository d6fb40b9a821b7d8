/** Whether people can sign in with school accounts, and whether the settings leave everybody a way in. */
import { type OpenMethods, schoolRoles } from '../../roles.ts'
import { bad, type Finding, good } from './doctor.ts'

const area = 'school accounts'

export interface SchoolAccountFacts {
  readonly methods: OpenMethods
  readonly providers: readonly {
    readonly name: string
    readonly enabled: boolean
    readonly roles: readonly string[]
    readonly steps: readonly { readonly step: string; readonly ok: boolean; readonly text: string }[]
  }[]
  /** Whether an admin has a passkey or a connected account that opens the console. */
  readonly adminHasOther: boolean
}

export function checkSchoolAccounts({ methods, providers, adminHasOther }: SchoolAccountFacts): Finding[] {
  const enabled = providers.filter((one) => one.enabled)
  const faults = enabled.flatMap(({ name, steps }) =>
    steps
      .filter(({ ok }) => !ok)
      .map(({ step, text }) =>
        bad(area, `${name}, ${step}: ${text}`, `chiron providers test "${name}" shows every step`),
      ),
  )
  const closed = schoolRoles
    .filter((role) => !methods[role].some((method) => method === 'code'))
    .filter((role) => !enabled.some(({ roles }) => roles.includes(role)))
    .map((role) =>
      bad(
        area,
        `codes are closed to ${role === 'staff' ? 'staff' : 'students'}, but no provider is open to them`,
        `add a provider, or put code back into CHIRON_${role.toUpperCase()}_SIGN_IN`,
      ),
    )
  const locked =
    methods.staff.includes('code') || adminHasOther
      ? []
      : [
          bad(
            area,
            'no admin can sign in: codes are closed to staff, and no admin has a connected school account or a passkey',
            'put code back into CHIRON_STAFF_SIGN_IN until an admin has connected one in the console',
          ),
        ]
  const findings = [...faults, ...closed, ...locked]
  if (findings.length > 0) return findings
  if (providers.length === 0) return [good(area, 'not set up')]
  return [good(area, `${enabled.length} of ${providers.length} providers on`)]
}
