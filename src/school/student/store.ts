import { inGeneration, inRoster } from '../../identity/people/in-roster.ts'
import { accounts } from '../../identity/people/people.ts'
import { type Db, prune, type Statement, statement } from '../../platform/db/db.ts'
import { readAll, readOne } from '../../platform/db/decision.ts'

export interface StudentRow {
  /** The generation of the roster that this was read from. */
  readonly roster: number
  readonly person_id: string
  readonly email: string
  readonly firstname: string
  readonly lastname: string
  readonly preferred_name: string | null
  readonly pronouns: string | null
  readonly student_number: string | null
  readonly year: number | null
  readonly school_id: string | null
  readonly school_name: string | null
  readonly student_updated_at: number
}

export interface ClassRow {
  /** JSON written by the import; null in the single row of a student without classes. */
  readonly document: string | null
  readonly start_date: string | null
  readonly end_date: string | null
  readonly class_updated_at: number | null
  readonly enrolment_id: string | null
}

/**
 * A student with all classes, in one statement so that everything comes from the same roster. No row if the student is
 * not on the roster.
 */
export async function studentWithClasses(db: Db, personId: string): Promise<(StudentRow & ClassRow)[]> {
  const rows = await db.all<StudentRow & ClassRow & { class_id: string | null }>(
    `select (select content from roster_state) as roster, s.person_id, s.email, s.firstname, s.lastname, s.preferred_name, s.pronouns, s.student_number, s.year,
       s.school_id, s.school_name, s.updated_at as student_updated_at,
       c.document, e.start_date, e.end_date, c.updated_at as class_updated_at, e.sourced_id as enrolment_id, e.class_id
     from student s
     left join roster_enrolment e on e.user_id = s.sourced_id and e.role = 'student' and ${inRoster('e')}
     left join roster_record c on c.kind = 'class' and c.sourced_id = e.class_id and ${inRoster('c')}
     where s.person_id = $1 and ${inRoster('s')}`,
    [personId],
  )
  return onePerClass(rows)
}

/** Some systems list an enrolment under two ids. Where the days of two overlap, they are one. */
function onePerClass<R extends ClassRow & { readonly class_id: string | null }>(rows: readonly R[]): R[] {
  const found: R[] = []
  const lastOf = new Map<string | null, number>()
  for (const row of rows.toSorted((a, b) => ((a.start_date ?? '') < (b.start_date ?? '') ? -1 : 1))) {
    const last = lastOf.get(row.class_id)
    if (last !== undefined && (row.start_date ?? '') <= (found[last]!.end_date ?? row.start_date ?? ''))
      found[last] = joined(found[last]!, row)
    else lastOf.set(row.class_id, found.push(row) - 1)
  }
  return found
}

/** From the first day to the last of both; an open start or end stays open. */
function joined<R extends ClassRow>(a: R, b: R): R {
  const first = a.enrolment_id! < b.enrolment_id! ? a : b
  const end_date = a.end_date && b.end_date && (a.end_date > b.end_date ? a.end_date : b.end_date)
  return { ...first, start_date: a.start_date, end_date }
}

export interface TaughtRow {
  readonly class_id: string
  /** The dates of an enrolment: the teacher's in the row of a class, the student's in that of a student. */
  readonly start_date: string | null
  readonly end_date: string | null
  /** Null in the row of a student. */
  readonly document: string | null
  readonly class_updated_at: number | null
  /** The rest is null in the row of a class. */
  readonly firstname: string | null
  readonly lastname: string | null
  readonly preferred_name: string | null
  readonly pronouns: string | null
  readonly email: string | null
}

/** A veterinarian as the roster may know them: by an address, in either spelling, or by a link from an earlier one. */
export interface TeacherKeys {
  readonly personId: string
  readonly addresses: readonly [string, string]
}

/**
 * The classes of the teachers that somebody is, and the students in them, in one statement so that everything comes
 * from the same roster. Classes and students are rows of their own: a class is not repeated for each student. A teacher
 * who is linked to somebody else is not found by address.
 */
export function classesTaught(db: Db, { personId, addresses }: TeacherKeys): Promise<TaughtRow[]> {
  return db.all<TaughtRow>(
    `with taught as (
       select e.class_id, e.start_date, e.end_date
       from roster_user u
       left join teacher_link l on l.sourced_id = u.sourced_id and l.email_key = u.email_key
         and exists (select 1 from person p where p.id = l.person_id and p.status = 'active')
       join roster_enrolment e on e.user_id = u.sourced_id and e.role = 'teacher' and ${inRoster('e')}
       where u.email_key in (
           select cast($1 as text) union select $2 union select email_key from teacher_link where person_id = $3)
         and (l.person_id = $3 or (l.person_id is null and u.email_key in ($1, $2)))
         and ${inRoster('u')}
     )
     select t.class_id, t.start_date, t.end_date, c.document, c.updated_at as class_updated_at,
       null as firstname, null as lastname, null as preferred_name, null as pronouns, null as email
     from taught t
     join roster_record c on c.kind = 'class' and c.sourced_id = t.class_id and ${inRoster('c')}
     union all
     select e.class_id, e.start_date, e.end_date, null, null, s.firstname, s.lastname, s.preferred_name, s.pronouns, s.email
     from roster_enrolment e
     join student_identity i on i.sourced_id = e.user_id
     join student s on s.person_id = i.person_id and ${inRoster('s')}
     where e.class_id in (select class_id from taught) and e.role = 'student' and ${inRoster('e')}`,
    [...addresses, personId],
  )
}

/**
 * For somebody who leaves an address that the roster has for a teacher. It lasts while the roster keeps that address:
 * with another one, the teacher is whoever has it.
 */
export function linkTeachers({ personId, addresses }: TeacherKeys, now: number): Statement {
  return statement(
    `insert into teacher_link (sourced_id, email_key, person_id, linked_at)
     select u.sourced_id, u.email_key, $3, cast($4 as bigint) from roster_user u
     where u.email_key in ($1, $2) and ${inRoster('u')}
     on conflict (sourced_id, email_key) do nothing`,
    ...addresses,
    personId,
    now,
  )
}

export function unlinkTeachers(personId: string): Statement {
  return statement('delete from teacher_link where person_id = $1', personId)
}

export async function isOnRoster(db: Db, personId: string): Promise<boolean> {
  const sql = `select s.person_id from student s where s.person_id = $1 and ${inRoster('s')}`
  return (await db.one(sql, [personId])) !== undefined
}

export async function personIdByAddress(db: Db, addressKey: string): Promise<string | undefined> {
  const row = await db.one<{ person_id: string }>(
    `select s.person_id from student s where s.email_key = $1 and ${inRoster('s')}`,
    [addressKey],
  )
  return row?.person_id
}

export function disabledByAddress(
  db: Db,
  addressKey: string,
): Promise<{ person_id: string; email: string } | undefined> {
  return db.one(
    `select d.person_id, d.email from disabled_student d where d.email_key = $1 and ${inRoster('d')} limit 1`,
    [addressKey],
  )
}

export interface FeedRow {
  readonly id: string
  readonly name: string
  readonly created_at: number
  readonly last_read_at: number | null
}

/** A student’s address in the roster with which the caller was authenticated: in one published since, it may be somebody else’s. */
export const readAddress = (personId: string, roster: number) =>
  readOne<{ email_key: string }>(
    `select s.email_key from student s where s.person_id = $1 and ${inGeneration('s', '$2')}`,
    personId,
    roster,
  )

export const readFeeds = (personId: string) =>
  readAll<{ email_key: string }>('select email_key from calendar_feed where person_id = $1', personId)

export interface NewFeed {
  readonly id: string
  readonly personId: string
  readonly name: string
  readonly tokenHash: string
  readonly createdAt: number
}

export const addFeed = (feed: NewFeed, addressKey: string) =>
  statement(
    `insert into calendar_feed (id, person_id, name, token_hash, created_at, email_key)
     values ($1, $2, $3, $4, $5, $6)`,
    feed.id,
    feed.personId,
    feed.name,
    feed.tokenHash,
    feed.createdAt,
    addressKey,
  )

// Also covers students who left the roster and came back with another address.
const feedWithItsAddress = `calendar_feed f join ${accounts} p on p.id = f.person_id and p.email_key = f.email_key`

export function feedsOf(db: Db, personId: string): Promise<FeedRow[]> {
  return db.all<FeedRow>(
    `select f.id, f.name, f.created_at, f.last_read_at from ${feedWithItsAddress}
     where f.person_id = $1 order by f.created_at, f.id`,
    [personId],
  )
}

export async function dropFeed(db: Db, personId: string, feedId: string): Promise<boolean> {
  const sql = 'delete from calendar_feed where person_id = $1 and id = $2 returning id'
  return (await db.run(sql, [personId, feedId])).length > 0
}

export function feedByToken(
  db: Db,
  tokenHash: string,
): Promise<(FeedRow & { readonly person_id: string }) | undefined> {
  return db.one(
    `select f.id, f.name, f.created_at, f.last_read_at, f.person_id from ${feedWithItsAddress}
     where f.token_hash = $1 and p.status = 'active'`,
    [tokenHash],
  )
}

export function feedWasRead(db: Db, feedId: string, now: number) {
  return db.run('update calendar_feed set last_read_at = $1 where id = $2', [now, feedId])
}

/**
 * Ends the feeds of students whose address changed: a generation ended their sessions, but they are still on the
 * roster.
 */
export function endFeedsOfMoved(generation: number): Statement {
  return statement(
    `delete from calendar_feed where person_id in (
       select d.person_id from roster_departure d join roster_state r on r.generation = d.generation
       join student s on s.person_id = d.person_id and ${inRoster('s')}
       where d.generation = $1)`,
    generation,
  )
}

export interface CardRow {
  readonly person_id: string
  readonly expires_at: number
  /** The rest is null if the roster that it was made from is gone. */
  readonly firstname: string | null
  readonly lastname: string | null
  readonly student_number: string | null
  readonly year: number | null
  readonly school_name: string | null
}

const cardsMax = 50

/** Forgets the oldest cards of somebody who asks for many. */
export function addCard(card: {
  cardHash: string
  personId: string
  roster: number
  expiresAt: number
}): Statement[] {
  return [
    statement(
      'insert into student_card (card_hash, person_id, roster, expires_at) values ($1, $2, $3, $4)',
      card.cardHash,
      card.personId,
      card.roster,
      card.expiresAt,
    ),
    statement(
      `delete from student_card where person_id = $1 and card_hash not in (
         select card_hash from student_card where person_id = $1 order by expires_at desc limit ${cardsMax})`,
      card.personId,
    ),
  ]
}

/** With the student as in the roster that the card was made from: they may have left it since. */
export function cardByHash(db: Db, cardHash: string): Promise<CardRow | undefined> {
  return db.one<CardRow>(
    `select c.person_id, c.expires_at, s.firstname, s.lastname, s.student_number, s.year, s.school_name
     from student_card c
     left join student s on s.person_id = c.person_id and ${inGeneration('s', 'c.roster')}
     where c.card_hash = $1`,
    [cardHash],
  )
}

export function pruneCards(expiredBefore: number): Statement {
  return prune('student_card', 'card_hash', 'expires_at < $1', expiredBefore)
}
