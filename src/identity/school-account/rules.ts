/** Whom a provider's answer names, and whether they may enter with it. Anything doubtful is refused. */
import type { RefusalReason } from '../../messages/events/events.ts'
import type { SchoolRole } from '../../roles.ts'
import type { Person } from '../people/people.ts'
import type { Asserted } from './claims.ts'
import type { Holder, LinkRow, ProviderRow } from './store.ts'

export const providersMax = 20

export interface Refusal {
  readonly is: 'refused'
  readonly reason: RefusalReason
  /** Who the account is known to be. */
  readonly personId?: string
}

const refused = (reason: RefusalReason, personId?: string): Refusal => ({
  is: 'refused',
  reason,
  ...(personId !== undefined && { personId }),
})

export interface Matching {
  readonly role: SchoolRole
  readonly link: LinkRow | undefined
  /** Everybody whom the claims name. */
  readonly named: readonly string[]
  /** Who has the link, or else the only one who is named. */
  readonly person: Person | undefined
  /** What the roster and the store say of them, if there is no link. */
  readonly numberOnRoster: string | null
  readonly hasOtherLink: boolean
}

export interface Match {
  readonly is: 'matched'
  readonly person: Person
  readonly hasLink: boolean
  /** Whether the claims name the person, too. */
  readonly isNamed: boolean
}

export function matchOf(matching: Matching, { number, ignored }: Asserted): Match | Refusal {
  const { role, link, named, person } = matching
  if (!link && role === 'staff') return refused('not-connected')
  if (!link && named.length > 1) return refused('two-people')
  if (!person) return refused(link ? 'not-active' : (ignored ?? 'nobody'))
  if (named.some((id) => id !== person.id)) return refused('two-people', person.id)
  if (!link) {
    const { numberOnRoster, hasOtherLink } = matching
    // Their address was perhaps somebody else's before.
    if (number !== '' && numberOnRoster !== null && numberOnRoster !== number)
      return refused('two-people', person.id)
    if (hasOtherLink) return refused('other-account', person.id)
  }
  if (person.status !== 'active') return refused('not-active', person.id)
  return { is: 'matched', person, hasLink: link !== undefined, isNamed: named.length > 0 }
}

export interface Entering {
  readonly holder: Holder | undefined
  /** Those of the account at the provider, and of the person there. */
  readonly links: readonly LinkRow[]
  readonly isOpen: boolean
}

/** The same again while the person is locked: meanwhile somebody else was faster, or the roster changed. */
export function entryOf(
  { holder, links, isOpen }: Entering,
  { person: { id }, hasLink, isNamed }: Match,
  subject: string,
): { readonly is: 'linked'; readonly linkId: string } | { readonly is: 'new' } | Refusal {
  const [link, another] = links
  const isOwn = link ? !another && link.person_id === id && link.subject === subject : !hasLink
  if (!isOwn) return refused('other-account', id)
  if (holder?.status !== 'active') return refused('not-active', id)
  if (!isOpen) return refused('closed', id)
  if (!link) return { is: 'new' }
  // A roster may give the entry of one person to another.
  if (!isNamed && !isAsBefore(link, holder)) return refused('outdated-link', id)
  return { is: 'linked', linkId: link.link_id }
}

const isAsBefore = (link: LinkRow, holder: Holder) =>
  link.email_key === holder.email_key ||
  (link.student_number !== null && link.student_number === holder.student_number)

/** Why somebody who is signed in cannot connect an account; null if they can. */
export function connectionRefusal(
  { holder, links, isOpen, isSessionOpen }: Entering & { readonly isSessionOpen: boolean },
  personId: string,
  named: readonly string[],
): Refusal | null {
  if (!holder || !isSessionOpen) return refused('session-ended')
  if (named.some((id) => id !== personId)) return refused('two-people', personId)
  if (links.length > 0) return refused('other-account', personId)
  if (holder.status !== 'active') return refused('not-active', personId)
  return isOpen ? null : refused('closed', personId)
}

export interface TrustProblem {
  readonly field: string
  readonly detail: string
}

/** What is wrong with a provider whose addresses all count; null if nothing is. */
export function trustProblem(
  provider: Pick<ProviderRow, 'kind' | 'trust_addresses' | 'domains'>,
): TrustProblem | null {
  const { kind, trust_addresses, domains } = provider
  if (trust_addresses === 0) return null
  if (kind !== 'oidc')
    return {
      field: 'trustAddresses',
      detail: 'is only for other providers: Entra ID and Google say themselves which addresses are verified',
    }
  return domains === ''
    ? { field: 'domains', detail: 'must be given, or any address would be trusted' }
    : null
}
