/** What may be done with a registration, and what a change of it means. */
import type { ClientColumns, ClientRow } from './store.ts'

export const clientsMax = 200

export const hasRoom = (clients: number) => clients < clientsMax

/** What differs from before. Veterinarians are not kept where none could sign in. */
export function changesOf(
  before: Pick<ClientRow, keyof ClientColumns>,
  given: Partial<ClientColumns>,
): Partial<ClientColumns> {
  const isNewThere = given.roles !== undefined && !before.roles.includes('veterinarian')
  const columns = {
    ...(isNewThere && before.unverified_veterinarians === null && { unverified_veterinarians: 0 }),
    ...given,
  }
  const changed = Object.entries(columns).filter(
    ([column, value]) => before[column as keyof ClientColumns] !== value,
  )
  return Object.fromEntries(changed)
}

/** Whether those who are not verified have to leave: also where only verified ones are admitted already. */
export const closesToUnverified = ({ unverified_veterinarians }: Partial<ClientColumns>) =>
  unverified_veterinarians === 0

/** What turning a client on or off does; null if it is so already. */
export function turned(
  { disabled_at }: Pick<ClientRow, 'disabled_at'>,
  enabled: boolean | undefined,
): 'enabled' | 'disabled' | null {
  if (enabled === undefined || enabled === (disabled_at === null)) return null
  return enabled ? 'enabled' : 'disabled'
}

/** Whether the secret is still the one that is to be replaced. */
export const canRotate = (client: Pick<ClientRow, 'secret_digest'> | undefined, from: string) =>
  client?.secret_digest === from
