/** The school's providers, read once for each page load, and the way to them. */
import { useEffect, useState } from 'react'
import type { Static } from 'typebox'
import type { ProviderButton } from '../../../src/identity/school-account/schemas.ts'
import type { SchoolRole } from '../../../src/roles.ts'
import { remember } from '../device.ts'
import { send } from '../http.ts'
import { isOpen } from '../school.ts'

export type Provider = Static<typeof ProviderButton>

let reading: Promise<readonly Provider[]> | undefined

function read(): Promise<readonly Provider[]> {
  reading ??= send<{ providers: Provider[] }>('/providers').then(
    ({ providers }) => providers,
    () => {
      // Without an answer there are no buttons. The next screen asks again.
      reading = undefined
      return []
    },
  )
  return reading
}

/** The providers that people of this role can sign in with; undefined until they are known. */
export function useProviders(role: SchoolRole | null): readonly Provider[] | undefined {
  const [providers, setProviders] = useState<readonly Provider[]>()
  const isAsked = role !== null && isOpen(role, 'school')
  useEffect(() => {
    if (isAsked) read().then(setProviders)
  }, [isAsked])
  if (!isAsked) return []
  return providers?.filter(({ roles }) => roles.includes(role))
}

/** Leaves for the provider. The browser comes back signed in, so the page that loads then has to look. */
export function leaveFor(location: string): void {
  remember('signed-in', '1')
  window.location.assign(location)
}
