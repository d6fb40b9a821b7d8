import { eventHappened } from '../../messages/events/events.ts'
import {
  type Db,
  insertion,
  prune,
  type Row,
  type Statement,
  statement,
  update,
} from '../../platform/db/db.ts'
import { lockAll, lockOne, readAll, readOne } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import type { Role, SchoolRole } from '../../roles.ts'
import { inRoster } from '../people/in-roster.ts'
import { accounts, type Person } from '../people/people.ts'
import type { ProviderKind } from './claims.ts'

export interface ProviderRow {
  readonly id: string
  readonly name: string
  readonly kind: ProviderKind
  readonly issuer: string
  readonly client_id: string
  readonly sealed: string
  /** Comma-separated, as domains are. */
  readonly roles: string
  readonly domains: string
  readonly number_claim: string | null
  readonly address_claim: string | null
  readonly trust_addresses: 0 | 1
  readonly tenant: string | null
  readonly hosted_domain: string | null
  readonly created_at: number
  readonly disabled_at: number | null
}

const providerColumns =
  'v.id, v.name, v.kind, v.issuer, v.client_id, v.sealed, v.roles, v.domains, v.number_claim, v.address_claim, v.trust_addresses, v.tenant, v.hosted_domain, v.created_at, v.disabled_at'

const byId = `select ${providerColumns} from provider v where v.id = $1`
export const providerById = (db: Db, id: string) => db.one<ProviderRow>(byId, [id])
export const lockProvider = (id: string) => lockOne<ProviderRow>('provider', byId, id)
export const allProviders = (db: Db) =>
  db.all<ProviderRow>(`select ${providerColumns} from provider v order by v.created_at, v.id`)

export type WatchedProvider = ProviderRow & { readonly links: number }

const watched = `select ${providerColumns}, (select count(*) from school_link l where l.provider_id = v.id) as links
  from provider v`

export const watchedProviders = (db: Db) => db.all<WatchedProvider>(`${watched} order by v.created_at, v.id`)
export const watchedProvider = (db: Db, id: string) =>
  db.one<WatchedProvider>(`${watched} where v.id = $1`, [id])

/** With their count read afterwards, so that of two that are added at once the second sees the first. */
export const lockProviders = () => lockAll<{ id: string }>('provider', 'select id from provider order by id')
export const countProviders = () => readOne<{ n: number }>('select count(*) as n from provider')

/** Undefined if people cannot sign in there. */
export const readOpenProvider = (id: string) =>
  readOne<{ id: string }>('select id from provider where id = $1 and disabled_at is null', id)

interface Event {
  readonly eventId: string
  readonly now: number
  readonly by: By
}

export function insertProvider(v: ProviderRow, by: By): Statement[] {
  const event = { eventId: `added.${v.id}`, now: v.created_at, by }
  return [insertion('provider', { ...v }), providerEvent('provider.added', v.id, event)]
}

export const updateProvider = ({ id, ...changes }: ProviderRow, event: Event): Statement[] => [
  update('provider', changes, { id }),
  providerEvent('provider.changed', id, event),
]

/** Sessions that began there go on. */
export const deleteProvider = (id: string, event: Event): Statement[] => [
  providerEvent('provider.removed', id, event),
  statement('delete from school_link where provider_id = $1', id),
  statement('delete from school_session where provider_id = $1', id),
  statement('delete from provider where id = $1', id),
]

const providerEvent = (
  type: 'provider.added' | 'provider.changed' | 'provider.removed',
  providerId: string,
  { eventId: id, now: at, by }: Event,
) => eventHappened(type, by, { id, at, data: { providerId } })

export const resealProvider = ({ id, sealed }: ProviderRow, resealed: string) =>
  update('provider', { sealed: resealed }, { id, sealed })

export interface LinkRow {
  readonly link_id: string
  readonly provider_id: string
  readonly role: Role
  readonly subject: string
  readonly person_id: string
  /** Those of the person at the last sign-in. */
  readonly email_key: string
  readonly student_number: string | null
  readonly created_at: number
  readonly last_used_at: number | null
}

const linkColumns =
  'l.id as link_id, l.provider_id, l.role, l.subject, l.person_id, l.email_key, l.student_number, l.created_at, l.last_used_at'

/** Of an account, what its links remember. */
export interface Holder extends Pick<Person, 'status' | 'email_key'> {
  readonly student_number: string | null
}

/** With a lock of the person. */
export const readHolder = (personId: string, role: Role) =>
  readOne<Holder>(
    `select p.status, p.email_key, p.student_number from ${accounts} p where p.id = $1 and p.role = $2`,
    personId,
    role,
  )

/** The link of this account at the provider, and that of the person there; one if they have each other. */
export const readLinks = ({ providerId, role, subject }: SubjectKey, personId: string) =>
  readAll<LinkRow>(
    `select ${linkColumns} from school_link l
     where l.provider_id = $1 and (l.role = $2 and l.subject = $3 or l.person_id = $4)`,
    providerId,
    role,
    subject,
    personId,
  )

export const readOwnLink = (personId: string, providerId: string) =>
  readOne<LinkRow>(
    `select ${linkColumns} from school_link l where l.person_id = $1 and l.provider_id = $2`,
    personId,
    providerId,
  )

export interface SubjectKey {
  readonly providerId: string
  readonly role: SchoolRole
  readonly subject: string
}

export const linkBySubject = (db: Db, { providerId, role, subject }: SubjectKey) =>
  db.one<LinkRow>(
    `select ${linkColumns} from school_link l where l.provider_id = $1 and l.role = $2 and l.subject = $3`,
    [providerId, role, subject],
  )

export const linksOfPerson = (db: Db, personId: string) =>
  db.all<LinkRow & { readonly name: string }>(
    `select ${linkColumns}, v.name from school_link l join provider v on v.id = l.provider_id
     where l.person_id = $1 order by l.created_at, l.id`,
    [personId],
  )

export function insertLink(
  link: SubjectKey & { linkId: string; personId: string; sessionId: string; now: number },
  { email_key, student_number }: Holder,
  by: By,
): Statement[] {
  const { linkId: id, providerId, role, subject, personId, sessionId, now: at } = link
  const key = { provider_id: providerId, role, subject, person_id: personId }
  const event = { id: `linked.${id}`, at, personId, sessionId, data: { providerId } }
  return [
    insertion('school_link', { id, ...key, email_key, student_number, created_at: at }),
    eventHappened('school.linked', by, event),
  ]
}

export const noteLinkUsed = (id: string, { email_key, student_number }: Holder, now: number) =>
  update('school_link', { last_used_at: now, email_key, student_number }, { id })

/** `sessionId` is that of the owner; null if staff remove it. */
export function deleteLink(
  { link_id, person_id: personId, provider_id: providerId }: LinkRow,
  sessionId: string | null,
  { eventId: id, now: at, by }: Event,
): Statement[] {
  return [
    eventHappened('school.unlinked', by, { id, at, personId, sessionId, data: { providerId } }),
    statement('delete from school_link where id = $1', link_id),
  ]
}

/** When an account is closed, or somebody leaves the staff. The event of that says so. */
export const eraseLinks = (personId: string) =>
  statement('delete from school_link where person_id = $1', personId)

/** A session that began at a provider, with the names that it and its owner have there. */
export interface SchoolSession extends Row {
  readonly session_id: string
  readonly provider_id: string
  readonly subject: string
  readonly sid: string | null
}

export const insertSchoolSession = (session: SchoolSession) => insertion('school_session', session)

/** The open sessions that a logout at the provider ends: of one session there, or all of somebody that began before it. */
export const sessionsAt = (
  db: Db,
  at: { providerId: string; sub: string | null; sid: string | null; before: number },
) =>
  db.all<{ session_id: string; id: string }>(
    `select t.session_id, s.person_id as id from school_session t join session s on s.id = t.session_id
     where t.provider_id = $1 and s.ended_at is null and s.started_at <= $2
       and (cast($3 as text) is null or t.subject = $3) and (cast($4 as text) is null or t.sid = $4)`,
    [at.providerId, at.before, at.sub, at.sid],
  )

export const pruneSchoolSessions = () =>
  prune(
    'school_session',
    'session_id',
    'not exists (select 1 from session s where s.id = school_session.session_id and s.ended_at is null)',
  )

/** Students who have this number on the current roster; two at most. */
export async function studentsByNumber(db: Db, number: string): Promise<string[]> {
  const rows = await db.all<{ person_id: string }>(
    `select s.person_id from student s where s.student_number = $1 and ${inRoster('s')} limit 2`,
    [number],
  )
  return rows.map(({ person_id }) => person_id)
}

export async function numberOfStudent(db: Db, personId: string): Promise<string | null> {
  const row = await db.one<{ student_number: string | null }>(
    `select s.student_number from student s where s.person_id = $1 and ${inRoster('s')}`,
    [personId],
  )
  return row?.student_number ?? null
}

/** Whether an admin can sign in with a school account. */
export async function adminHasLink(db: Db): Promise<boolean> {
  const found = await db.one(
    `select 1 from person p join school_link l on l.person_id = p.id
     join provider v on v.id = l.provider_id and v.disabled_at is null and ',' || v.roles || ',' like '%,staff,%'
     where p.role = 'staff' and p.status = 'active' and ',' || p.may || ',' like '%,admin,%' and l.email_key = p.email_key
     limit 1`,
  )
  return found !== undefined
}

/** Whether a provider is open to the role. */
export async function hasProvider(db: Db, role: Role): Promise<boolean> {
  const found = await db.one(
    "select 1 from provider where disabled_at is null and ',' || roles || ',' like $1 limit 1",
    [`%,${role},%`],
  )
  return found !== undefined
}
