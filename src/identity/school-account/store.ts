import { eventsFrom } from '../../messages/events/events.ts'
import {
  always,
  type Condition,
  type Db,
  expression,
  prune,
  type Statement,
  statement,
  value,
} from '../../platform/db/db.ts'
import type { By } from '../../platform/lib/by.ts'
import type { Role } from '../../roles.ts'
import { accounts, inRoster } from '../people/people.ts'
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

export function allProviders(db: Db): Promise<ProviderRow[]> {
  return db.all<ProviderRow>(`select ${providerColumns} from provider v order by v.created_at, v.id`)
}

export function providerById(db: Db, id: string): Promise<ProviderRow | undefined> {
  return db.one<ProviderRow>(`select ${providerColumns} from provider v where v.id = $1`, [id])
}

export type WatchedProvider = ProviderRow & { readonly links: number }

const watched = `select ${providerColumns}, (select count(*) from school_link l where l.provider_id = v.id) as links
  from provider v`

export function watchedProviders(db: Db): Promise<WatchedProvider[]> {
  return db.all<WatchedProvider>(`${watched} order by v.created_at, v.id`)
}

export function watchedProvider(db: Db, id: string): Promise<WatchedProvider | undefined> {
  return db.one<WatchedProvider>(`${watched} where v.id = $1`, [id])
}

/** The first statement returns no row if there are already `max`. */
export function insertProvider(v: ProviderRow, max: number, by: By): Statement[] {
  return [
    statement(
      `insert into provider (id, name, kind, issuer, client_id, sealed, roles, domains, number_claim, address_claim, trust_addresses, tenant, hosted_domain, created_at)
       select $1, $2, $3, $4, $5, $6, $7, $8, cast($9 as text), cast($10 as text), cast($11 as integer), cast($12 as text), cast($13 as text), cast($14 as bigint)
       where (select count(*) from provider) < cast($15 as bigint) returning id`,
      v.id,
      v.name,
      v.kind,
      v.issuer,
      v.client_id,
      v.sealed,
      v.roles,
      v.domains,
      v.number_claim,
      v.address_claim,
      v.trust_addresses,
      v.tenant,
      v.hosted_domain,
      v.created_at,
      max,
    ),
    providerEvent('provider.added', v.id, { eventId: `added.${v.id}`, now: v.created_at, by }),
  ]
}

export function updateProvider(
  v: ProviderRow,
  { eventId, now, by }: { eventId: string; now: number; by: By },
): Statement[] {
  return [
    statement(
      `update provider set name = $2, client_id = $3, sealed = $4, roles = $5, domains = $6, number_claim = $7,
         address_claim = $8, trust_addresses = $9, hosted_domain = $10, disabled_at = $11
       where id = $1 returning id`,
      v.id,
      v.name,
      v.client_id,
      v.sealed,
      v.roles,
      v.domains,
      v.number_claim,
      v.address_claim,
      v.trust_addresses,
      v.hosted_domain,
      v.disabled_at,
    ),
    providerEvent('provider.changed', v.id, { eventId, now, by }),
  ]
}

/** The last statement returns a row if it was there. Sessions that began there go on. */
export function deleteProvider(
  id: string,
  { eventId, now, by }: { eventId: string; now: number; by: By },
): Statement[] {
  return [
    providerEvent('provider.removed', id, { eventId, now, by }),
    statement('delete from school_link where provider_id = $1', id),
    statement('delete from school_session where provider_id = $1', id),
    statement('delete from provider where id = $1 returning id', id),
  ]
}

function providerEvent(
  type: 'provider.added' | 'provider.changed' | 'provider.removed',
  id: string,
  { eventId, now, by }: { eventId: string; now: number; by: By },
): Statement {
  return eventsFrom(
    type,
    by,
    { id: '$1', at: 'cast($2 as bigint)', data: `'{"providerId":"' || id || '"}'` },
    'from provider where id = $3',
    eventId,
    now,
    id,
  )
}

export function resealProvider({ id, sealed }: ProviderRow, resealed: string): Statement {
  return statement('update provider set sealed = $1 where id = $2 and sealed = $3', resealed, id, sealed)
}

export interface LinkRow {
  readonly link_id: string
  readonly provider_id: string
  readonly role: Role
  readonly subject: string
  readonly person_id: string
  readonly created_at: number
  readonly last_used_at: number | null
}

const linkColumns =
  'l.id as link_id, l.provider_id, l.role, l.subject, l.person_id, l.created_at, l.last_used_at'

export interface SubjectKey {
  readonly providerId: string
  readonly role: Role
  readonly subject: string
}

export function linkBySubject(
  db: Db,
  { providerId, role, subject }: SubjectKey,
): Promise<LinkRow | undefined> {
  return db.one<LinkRow>(
    `select ${linkColumns} from school_link l where l.provider_id = $1 and l.role = $2 and l.subject = $3`,
    [providerId, role, subject],
  )
}

export function linkOfPerson(db: Db, personId: string, providerId: string): Promise<LinkRow | undefined> {
  return db.one<LinkRow>(
    `select ${linkColumns} from school_link l where l.person_id = $1 and l.provider_id = $2`,
    [personId, providerId],
  )
}

export function linksOfPerson(db: Db, personId: string): Promise<(LinkRow & { readonly name: string })[]> {
  return db.all(
    `select ${linkColumns}, v.name from school_link l join provider v on v.id = l.provider_id
     where l.person_id = $1 order by l.created_at, l.id`,
    [personId],
  )
}

/** Adds a link unless the person has another account there, or the account another person. The first statement returns a row if it did. */
export function insertLink(
  link: SubjectKey & { linkId: string; personId: string; sessionId: string; now: number },
  by: By,
  when: Condition,
): Statement[] {
  return [
    statement(
      `insert into school_link (id, provider_id, role, subject, person_id, email_key, student_number, created_at)
       select $1, $2, p.role, $3, p.id, p.email_key, p.student_number, cast($4 as bigint)
       from ${accounts} p where p.id = $5 and p.role = $6 and p.status = 'active' and ${when.sql(7)}
       on conflict do nothing returning id`,
      link.linkId,
      link.providerId,
      link.subject,
      link.now,
      link.personId,
      link.role,
      ...when.params,
    ),
    eventsFrom(
      'school.linked',
      by,
      {
        id: "'linked.' || id",
        at: 'created_at',
        person: 'person_id',
        session: 'cast($2 as text)',
        data: `'{"providerId":"' || provider_id || '"}'`,
      },
      'from school_link where id = $1',
      link.linkId,
      link.sessionId,
    ),
  ]
}

/**
 * True if the account at the provider is this person's. Unless the provider has just named the person, they must still
 * have the address or the number of their last sign-in: a roster may give an entry to somebody else.
 */
export function isLinked(
  { providerId, role, subject }: SubjectKey,
  personId: string,
  isNamed: boolean,
): Condition {
  const asBefore: Condition = {
    sql: () => '(l.email_key = p.email_key or l.student_number = p.student_number)',
    params: [],
  }
  const accountsSql: Condition = { sql: () => accounts, params: [] }
  return expression`exists (select 1 from school_link l join ${accountsSql} p on p.id = l.person_id
    where l.provider_id = ${value(providerId)} and l.role = ${value(role)} and l.subject = ${value(subject)}
      and l.person_id = ${value(personId)} and ${isNamed ? always : asBefore})`
}

export function isEnabled(providerId: string): Condition {
  return expression`exists (select 1 from provider where id = ${value(providerId)} and disabled_at is null)`
}

/** Notes the sign-in, with the address and number that the person has now. */
export function noteLinkUsed(
  { providerId, role, subject }: SubjectKey,
  personId: string,
  now: number,
  when: Condition,
): Statement {
  const of = (column: string) => `(select p.${column} from ${accounts} p where p.id = $2)`
  return statement(
    `update school_link set last_used_at = $1, email_key = ${of('email_key')}, student_number = ${of('student_number')}
     where person_id = $2 and provider_id = $3 and role = $4 and subject = $5 and ${when.sql(6)}`,
    now,
    personId,
    providerId,
    role,
    subject,
    ...when.params,
  )
}

/** The last statement returns a row if the link was there. */
export function deleteLink(
  { personId, providerId, sessionId }: { personId: string; providerId: string; sessionId: string | null },
  { eventId, now, by }: { eventId: string; now: number; by: By },
): Statement[] {
  return [
    eventsFrom(
      'school.unlinked',
      by,
      {
        id: '$1',
        at: 'cast($2 as bigint)',
        person: 'person_id',
        session: 'cast($5 as text)',
        data: `'{"providerId":"' || provider_id || '"}'`,
      },
      'from school_link where person_id = $3 and provider_id = $4',
      eventId,
      now,
      personId,
      providerId,
      sessionId,
    ),
    statement(
      'delete from school_link where person_id = $1 and provider_id = $2 returning id',
      personId,
      providerId,
    ),
  ]
}

/** When an account is closed, or somebody leaves the staff. The event of that says so. */
export function eraseLinks(personId: string, when: Condition = always): Statement {
  return statement(
    `delete from school_link where person_id = $1 and ${when.sql(2)}`,
    personId,
    ...when.params,
  )
}

export function insertSchoolSession(
  s: { sessionId: string; providerId: string; sub: string; sid: string | null },
  when: Condition,
): Statement {
  return statement(
    `insert into school_session (session_id, provider_id, subject, sid)
     select $1, $2, $3, cast($4 as text) where ${when.sql(5)}`,
    s.sessionId,
    s.providerId,
    s.sub,
    s.sid,
    ...when.params,
  )
}

/** The open sessions that a logout at the provider ends: of one session there, or all of somebody that began before it. */
export function sessionsAt(
  db: Db,
  {
    providerId,
    sub,
    sid,
    before,
  }: { providerId: string; sub: string | null; sid: string | null; before: number },
): Promise<{ session_id: string; id: string }[]> {
  return db.all(
    `select t.session_id, s.person_id as id from school_session t join session s on s.id = t.session_id
     where t.provider_id = $1 and s.ended_at is null and s.started_at <= $2
       and (cast($3 as text) is null or t.subject = $3) and (cast($4 as text) is null or t.sid = $4)`,
    [providerId, before, sub, sid],
  )
}

export function pruneSchoolSessions(): Statement {
  return prune(
    'school_session',
    'session_id',
    'not exists (select 1 from session s where s.id = school_session.session_id and s.ended_at is null)',
  )
}

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
export const adminHasLink: Condition = {
  sql: () => `exists (select 1 from person p join school_link l on l.person_id = p.id
    join provider v on v.id = l.provider_id and v.disabled_at is null and ',' || v.roles || ',' like '%,staff,%'
    where p.role = 'staff' and p.status = 'active' and ',' || p.may || ',' like '%,admin,%' and l.email_key = p.email_key)`,
  params: [],
}

/** Whether a provider is open to the role. */
export function hasProvider(role: Role): Condition {
  return expression`exists (select 1 from provider where disabled_at is null
    and ',' || roles || ',' like ${value(`%,${role},%`)})`
}
