/**
 * The audit trail: every change of state of a person or session, written in the transaction of the change, with ids
 * only. An event that can happen only once has an id made from its subject, so two processes that notice the same
 * change write it once.
 */
import { type Db, type Statement, statement } from '../db/db.ts'
import type { Role } from '../lib/roles.ts'

/** Events of an account, by role. Add new ones here. */
const ofRole = {
  veterinarian: ['registered', 'activated', 'updated', 'suspended', 'reactivated', 'closed', 'lapsed'],
  student: ['added', 'updated', 'deactivated', 'suspended', 'reactivated'],
} as const satisfies Record<Role, readonly string[]>

const others = [
  'session.started',
  'session.ended',
  'otp.exhausted',
  'mail.failed',
  'roster.imported',
] as const

type NameOf<R extends Role> = (typeof ofRole)[R][number]
/** The names that all these roles have. */
type SharedName<R extends Role> = (R extends Role ? (name: NameOf<R>) => void : never) extends (
  name: infer Name,
) => void
  ? Name & string
  : never

export type EventType = { [R in Role]: `${R}.${NameOf<R>}` }[Role] | (typeof others)[number]

/** For accounts whose role is known only at run time. */
export function eventOf<R extends Role>(role: R, name: SharedName<R>): EventType {
  return `${role}.${name}` as EventType
}

export const eventSql = (type: EventType) => `'${type}'`

export interface EventRow {
  readonly id: string
  readonly at: number
  readonly type: EventType
  readonly person_id: string | null
  readonly session_id: string | null
  readonly data: string
}

export function eventHappened(
  type: EventType,
  event: { id: string; at: number; personId?: string; sessionId?: string; data?: Record<string, string> },
): Statement {
  return statement(
    `insert into event (id, at, type, person_id, session_id, data) values ($1, $2, $3, $4, $5, $6)
     on conflict (id) do nothing`,
    event.id,
    event.at,
    type,
    event.personId ?? null,
    event.sessionId ?? null,
    JSON.stringify(event.data ?? {}),
  )
}

/** To be followed by `select id, at, type, person_id, session_id, data …`. */
export const insertEvents = 'insert into event (id, at, type, person_id, session_id, data)'

/** Events of an import count only once it is published. */
export function eventsOf(db: Db, personId: string): Promise<EventRow[]> {
  return db.all<EventRow>(
    `select e.id, e.at, e.type, e.person_id, e.session_id, e.data from event e
     left join roster_generation g on g.id = e.generation
     where e.person_id = $1 and (e.generation is null or g.published_at is not null)
     order by e.at, e.id`,
    [personId],
  )
}
