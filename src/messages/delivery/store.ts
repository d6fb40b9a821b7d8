import { type Db, prune, type Statement, statement, type Value } from '../../platform/db/db.ts'
import { type Decision, decision, lockOne } from '../../platform/db/decision.ts'
import type { By } from '../../platform/lib/by.ts'
import { firstIdAt } from '../../platform/lib/random.ts'
import type { Role } from '../../roles.ts'
import { eventHappened, readEvent } from '../events/events.ts'
import type { State } from './states.ts'

export interface DeliveryRow {
  readonly id: string
  readonly session_id: string
  readonly role: Role
  readonly kind: string | null
  readonly domain: string
  /** Whose address it was. */
  readonly person_id: string | null
  /** The requester, if the address was not theirs; empty if their account is closed. */
  readonly asker_id: string | null
  readonly state: State
  readonly created_at: number
  readonly updated_at: number
  readonly steps: string
}

const columns =
  'id, session_id, role, kind, domain, person_id, asker_id, state, created_at, updated_at, steps'

/** After an account is closed, its mails that somebody else asked for leave a row without a fingerprint. */
const isKept = "address_fingerprint <> ''"

/** The words of the index `delivery_trouble`: a query that repeats them can use it. */
const inTrouble = "state in ('deferred', 'not-sent', 'failed', 'bounced')"

/** For a mail that was queued in the same transaction. The challenge knows who wants to move to a new address. */
export function openDelivery(mailId: string, domain: string): Statement {
  return statement(
    `insert into delivery (id, session_id, role, address_fingerprint, domain, asker_id, state, created_at, updated_at, steps)
     select o.id, o.session_id, o.role, o.address_fingerprint, $2, case when c.session_id is null then c.person_id end, 'queued', o.created_at, o.created_at, ''
     from outbox o left join challenge c on c.id = o.session_id where o.id = $1`,
    mailId,
    domain,
  )
}

export interface NewStep {
  /** The mail. */
  readonly id: string
  readonly state: string | null
  readonly kind: string | null
  readonly personId: string | null
  readonly at: number
  readonly line: string
  /** The line is left out once the others have this many characters. */
  readonly unlessLongerThan: number
}

/** A mail whose code was used stays `opened`, whatever is reported later. */
export function addStep(step: NewStep): Statement {
  return statement(
    `update delivery
     set state = case when state = 'opened' then state else coalesce(cast($1 as text), state) end,
         kind = coalesce(cast($2 as text), kind), person_id = coalesce(cast($3 as text), person_id), updated_at = $4,
         steps = case when length(steps) > cast($6 as bigint) then steps else steps || cast($5 as text) end
     where id = $7 and ${isKept}`,
    step.state,
    step.kind,
    step.personId,
    step.at,
    step.line,
    step.unlessLongerThan,
    step.id,
  )
}

/** Each mail has at most one event of either sort, however often its bounce is reported. */
export function addBounce(step: NewStep, hard: boolean, by: By): Decision<null> {
  const { id, at } = step
  const eventId = `bounced.${hard ? 'hard' : 'soft'}.${id}`
  return decision(
    {
      delivery: lockOne<DeliveryRow>('delivery', `select ${columns} from delivery where id = $1`, id),
      known: readEvent(eventId),
    },
    ({ delivery, known }) => {
      if (!delivery || known) return { result: null }
      const { person_id, session_id, asker_id } = delivery
      const event = eventHappened('mail.bounced', by, {
        id: eventId,
        at,
        ...(person_id !== null && { personId: person_id }),
        // The owner of the address must not learn who requested the mail.
        ...(asker_id === null && session_id !== '' && { sessionId: session_id }),
        data: { hard: hard ? 'true' : 'false' },
      })
      return { writes: [addStep(step), ...(hard ? [noteBounced(id, at)] : []), event], result: null }
    },
  )
}

const noteBounced = (id: string, at: number) =>
  statement('update delivery set bounced_at = coalesce(bounced_at, cast($2 as bigint)) where id = $1', id, at)

export interface DeliveryFilter {
  /** One for each secret. */
  readonly fingerprints?: readonly string[]
  readonly personId?: string
  readonly state?: string
  /** Only those still to be sent. */
  readonly isWaiting?: boolean
  /** Epoch milliseconds. */
  readonly since?: number
  /** Only older ones than this id. */
  readonly before?: string
  /** Also those to accounts that were closed since. */
  readonly erasedToo?: boolean
  readonly limit: number
}

/** To them, or asked for by them. */
const isOf = (person: string) => `(person_id = ${person} or asker_id = ${person})`

/** Newest first. */
export function someDeliveries(db: Db, filter: DeliveryFilter): Promise<DeliveryRow[]> {
  const params: Value[] = []
  const take = (value: Value) => `$${params.push(value)}`
  const { fingerprints, personId, state, isWaiting, since, before, erasedToo, limit } = filter
  const isTrouble = state !== undefined && inTrouble.includes(`'${state}'`)
  const conditions = [
    erasedToo ? 'true' : isKept,
    fingerprints && `address_fingerprint in (${fingerprints.map(take).join(', ')})`,
    personId !== undefined && isOf(take(personId)),
    state !== undefined && `state = ${take(state)}`,
    isWaiting && 'id in (select o.id from outbox o where o.sent_at is null)',
    isTrouble && inTrouble,
    since !== undefined && `id >= ${take(firstIdAt(since))}`,
    before !== undefined && `id < ${take(before)}`,
  ].filter(Boolean)
  return db.all<DeliveryRow>(
    `select ${columns} from delivery where ${conditions.join(' and ')} order by id desc limit ${take(limit)}`,
    params,
  )
}

export async function isDelivery(db: Db, id: string): Promise<boolean> {
  return (await db.one('select id from delivery where id = $1', [id])) !== undefined
}

/** The last mail that a mail server accepted for this address. */
export async function lastHanded(db: Db, fingerprints: readonly string[]): Promise<string | undefined> {
  const which = fingerprints.map((_, i) => `$${i + 1}`).join(', ')
  const row = await db.one<{ id: string }>(
    `select id from delivery where address_fingerprint in (${which}) and state in ('handed', 'bounced', 'opened')
     order by id desc limit 1`,
    fingerprints,
  )
  return row?.id
}

/** Addresses that permanently refused a student's mail, without a later mail whose code was used. */
export function bouncedStudents(db: Db): Promise<{ address_fingerprint: string; bounced_at: number }[]> {
  return db.all(
    `select d.address_fingerprint, max(d.bounced_at) as bounced_at from delivery d
     where d.state = 'bounced' and d.${inTrouble} and d.bounced_at is not null and d.role = 'student'
       and not exists (select 1 from delivery later where later.address_fingerprint = d.address_fingerprint
         and later.id > d.id and later.state = 'opened')
     group by d.address_fingerprint`,
  )
}

export function pruneDeliveries(before: number): Statement {
  return prune('delivery', 'id', 'id < $1', firstIdAt(before))
}

/** Records of unknown addresses. Those that a signed-in person requested are kept with that person. */
export function pruneStrangers(before: number): Statement {
  return prune('delivery', 'id', 'person_id is null and asker_id is null and id < $1', firstIdAt(before))
}

/** Erases the records of mails that somebody requested or received. */
export function forgetPerson(personId: string): Statement[] {
  return [
    statement('delete from delivery where asker_id = $1 and person_id is null', personId),
    statement("update delivery set asker_id = '' where asker_id = $1", personId),
    ...forgetMails('person_id = $1', personId),
  ]
}

export function forgetAddress(fingerprint: string): Statement[] {
  return forgetMails('address_fingerprint = $1', fingerprint)
}

/** The record of a request belongs to the requester, and must survive the owner of the address. */
function forgetMails(which: string, value: string): Statement[] {
  return [
    statement(`delete from delivery where ${which} and coalesce(asker_id, '') = ''`, value),
    statement(
      `update delivery set person_id = null, address_fingerprint = '', kind = null, state = 'queued', steps = '',
         updated_at = created_at, bounced_at = null
       where ${which}`,
      value,
    ),
  ]
}
