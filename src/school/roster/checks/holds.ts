/** Holds: changes that somebody should confirm first. Each has a code, by which it is allowed. */
import { counted } from '../../../platform/lib/counted.ts'
import type { Comparison, Counts } from '../compare/compare.ts'
import type { Mode, RosterFile } from '../records.ts'
import type { HoldShares } from '../words.ts'
import type { Case } from './case.ts'
import { classHolds } from './class-holds.ts'
import { type Hold, type Limits, limitsOf } from './hold.ts'

const leaversMin = 4
const mostShare = 0.5
// For classes and enrolments; for people there is no minimum.
const smallKind = 20
// A single person need not be confirmed.
const peopleMin = 2
const lookedUpAtOnce = 500

/** `other` compares the same file in another mode, and counts. */
export async function findHolds(
  roster: Case,
  shares: HoldShares,
  other: (mode: Mode) => Promise<Comparison['counts']>,
): Promise<Hold[]> {
  const holds = await modeHolds(roster, other)
  if (isEmpty(roster.counts)) return holds
  return [
    ...holds,
    ...staleHolds(roster),
    ...(await lossHolds(roster, shares)),
    ...(await identityHolds(roster, shares)),
  ]
}

/** What would be lost or changed, whatever the reason: an undo is judged by these alone. */
export async function lossHolds(roster: Case, shares: HoldShares): Promise<Hold[]> {
  const limits = limitsOf(shares)
  return [
    ...leaverHolds(roster, limits),
    ...changeHolds(roster, limits),
    ...teacherHolds(roster, limits),
    ...(await Array.fromAsync(classHolds(roster, limits))),
    ...numberHolds(roster, limits),
    ...addressHolds(roster, limits),
  ]
}

function isEmpty(counts: Comparison['counts']): boolean {
  return Object.values(counts).every(
    ({ added, changed, leaving, returning }) => added + changed + leaving + returning === 0,
  )
}

const studentsOf = (count: number) => counted(count, 'student', 'students')

/** Describes both readings if the set does not declare its mode or contradicts itself. */
async function modeHolds(
  roster: Case,
  other: (mode: Mode) => Promise<Comparison['counts']>,
): Promise<Hold[]> {
  const { file, counts } = roster
  const doubt = modeDoubt(roster)
  const reading = wholeMode(file)
  if (doubt === null || reading === null) return []
  const otherwise = await other(reading === 'bulk' ? 'delta' : 'bulk')
  const isSame = JSON.stringify(counts) === JSON.stringify(otherwise)
  if (isSame && (file.modeFrom !== 'rows' || isEmpty(counts))) return []
  const [bulk, delta] = reading === 'bulk' ? [counts, otherwise] : [otherwise, counts]
  const numbers = { leavingAsBulk: bulk.student.leaving, leavingAsDelta: delta.student.leaving }
  const reason = `${doubt}. Read as the whole roster (--bulk), ${studentsOf(numbers.leavingAsBulk)} would leave; read as changes only (--delta), ${studentsOf(numbers.leavingAsDelta)}`
  return [{ code: 'mode', reason, numbers }]
}

function wholeMode({ modes }: RosterFile): Mode | null {
  const all = new Set(Object.values(modes))
  return all.size === 1 ? [...all][0]! : null
}

/** Why a delta may be a whole roster instead. */
export function deltaDoubt(file: RosterFile): string | null {
  if (file.rows === 0 || file.modeFrom === 'caller') return null
  if (file.modeFrom === 'rows')
    return 'there is no manifest to say whether this is the whole roster or changes only'
  if (wholeMode(file) === 'delta' && file.form === 'bare')
    return 'the manifest says delta, but no row has a status or a date, as in a whole roster'
  return null
}

function modeDoubt({ file, students }: Case): string | null {
  const doubt = deltaDoubt(file)
  if (doubt !== null || file.rows === 0 || file.modeFrom === 'caller') return doubt
  if (wholeMode(file) !== 'bulk' || file.form !== 'dated') return null
  // Exporters do write dates into a whole roster, but a whole roster names most current students.
  if (students.namedBefore() >= students.counts.before * mostShare) return null
  return 'the manifest says bulk, but every row has a status and a date and most students are missing, as in a delta'
}

function* staleHolds({ file, standing }: Case): Generator<Hold> {
  const imports = standing.lineage.filter(({ kind }) => kind === 'import')
  const again = imports.findIndex(({ sha256 }) => sha256 === file.sha256)
  if (again > 0) {
    const { id } = imports[again]!
    const reason = `this file was already imported as number ${id}, and others were imported after it`
    yield { code: 'stale', reason, numbers: { generation: id } }
    return
  }
  if (!Object.values(file.modes).includes('delta') || file.newestRowAt === null) return
  const newest = imports.reduce((max, { newest_row_at }) => Math.max(max, newest_row_at ?? 0), 0)
  if (file.newestRowAt >= newest) return
  const [here, there] = [file.newestRowAt, newest].map((at) => new Date(at).toISOString())
  const reason = `this delta is older than the current roster: its newest change is from ${here}, and one from ${there} was already imported`
  yield { code: 'stale', reason, numbers: { newestRowAt: file.newestRowAt, newestStandingAt: newest } }
}

function* leaverHolds({ counts, file }: Case, { isMore, beyond }: Limits): Generator<Hold> {
  const { before, leaving } = counts.student
  if (leaving >= leaversMin && isMore('leavers', leaving, before)) {
    const reason = `${leaving} of ${studentsOf(before)} would leave ${beyond('leavers')}`
    yield { code: 'leavers', reason, numbers: { leaving, before } }
  } else if (leaving > 0 && leaving === before && file.modes.user === 'bulk') {
    yield { code: 'leavers', reason: 'nobody would be left on the roster', numbers: { leaving, before } }
  }
}

const wordsOf = (kind: 'student' | 'class' | 'enrolment', count: number) =>
  kind === 'student'
    ? studentsOf(count)
    : kind === 'class'
      ? counted(count, 'class', 'classes')
      : counted(count, 'enrolment', 'enrolments')

function* changeHolds({ counts }: Case, { isMore, beyond }: Limits): Generator<Hold> {
  for (const kind of ['student', 'class', 'enrolment'] as const) {
    const { before, changed }: Counts = counts[kind]
    const isFew = kind === 'student' ? changed < peopleMin : before < smallKind
    if (isFew || !isMore('changes', changed, before)) continue
    const reason = `${changed} of ${wordsOf(kind, before)} would change ${beyond('changes')}`
    yield { code: 'changes', reason, numbers: { changed, before } }
  }
}

/** Teachers by role and by enrolment, in the roster before (`was`) or after (`next`). */
const teachersIn = (side: 'was' | 'next') => `
  ${side}_roles (id) as (
    select id from ${side}_user where data ->> 'role' = 'teacher'
    union select data ->> 'userId' from ${side}_role
      where data ->> 'role' = 'teacher' and data ->> 'userId' in (select id from ${side}_user)),
  ${side}_teaching (id) as (
    select user_id from ${side}_enrolment where role = 'teacher'
      and class_id in (select id from ${side}_class) and user_id in (select id from ${side}_user))`

const vanishingTeachers = `
  with ${teachersIn('was')}, ${teachersIn('next')}
  select count(*) as before, coalesce(sum(
    (id in (select id from was_roles) and id not in (select id from next_roles))
    or (id in (select id from was_teaching) and id not in (select id from next_teaching))), 0) as vanishing
  from (select id from was_roles union select id from was_teaching)`

function* teacherHolds({ bench }: Case, { isMore, beyond }: Limits): Generator<Hold> {
  const { before, vanishing } = bench.file.one<{ before: number; vanishing: number }>(vanishingTeachers)!
  if (!isMore('teachers', vanishing, before)) return
  const reason = `${vanishing} of ${counted(before, 'teacher', 'teachers')} would leave ${beyond('teachers')}`
  yield { code: 'teachers', reason, numbers: { vanishing, before } }
}

/** How many students have another value in this column than now, among those that have one now. */
const changing = ({ bench }: Case, now: string, next: string) =>
  bench.file.number(
    `select count(*) from student s join was_student w on w.id = coalesce(s.matched_from, s.id)
     where s.state = 'changed' and w.${now} is not null and w.${now} is not s.${next}`,
  )

function* numberHolds(roster: Case, { isMore, beyond }: Limits): Generator<Hold> {
  const before = roster.students.numbersBefore
  const changed = changing(roster, 'student_number', 'number')
  if (changed < peopleMin || !isMore('numbers', changed, before)) return
  const reason = `the student numbers of ${changed} of ${studentsOf(before)} would change ${beyond('numbers')}`
  yield { code: 'numbers', reason, numbers: { changed, before } }
}

function* addressHolds(roster: Case, { isMore, beyond }: Limits): Generator<Hold> {
  const before = roster.students.addressesBefore
  const changed = changing(roster, 'email_key', 'email_key')
  if (changed < peopleMin || !isMore('addresses', changed, before)) return
  const reason = `the addresses of ${changed} of ${studentsOf(before)} would change ${beyond('addresses')}, and those students would be signed out`
  yield { code: 'addresses', reason, numbers: { changed, before } }
}

/** New sourcedIds for most: the school has changed its system, or the way it exports. */
async function identityHolds(roster: Case, { identities }: HoldShares): Promise<Hold[]> {
  const { students, counts } = roster
  const { added, after, leaving, before } = counts.student
  if (before === 0) return []
  const isMost = (count: number, of: number) => count * 100 > of * identities
  if (!isMost(added, after) || !isMost(leaving, before)) return movedAddresses(roster)
  const byNumber = students.matchesBy('number').size
  const byAddress = students.matchesBy('address').size
  const reason = `${added} of ${studentsOf(after)} ${added === 1 ? 'has a new sourcedId and would get a new account' : 'have a new sourcedId and would get new accounts'}. Matching by student number (--match number) would keep ${counted(byNumber, 'account', 'accounts')}, by address (--match address) ${byAddress}`
  return [{ code: 'identities', reason, numbers: { added, after, byNumber, byAddress } }]
}

/** A new student with an address that another student has or had is probably the same person under a new sourcedId. */
async function movedAddresses({ standing, bench }: Case): Promise<Hold[]> {
  let count = 0
  let first = ''
  for (let last = Number.MIN_SAFE_INTEGER; ; ) {
    const fresh = bench.file.all<{ place: number; id: string; email_key: string }>(
      `select place, id, email_key from student where state = 'added' and email_key is not null and place > ?
       order by place limit ${lookedUpAtOnce}`,
      last,
    )
    if (fresh.length === 0) break
    last = fresh.at(-1)!.place
    const owners = await standing.owners(fresh.map(({ email_key }) => email_key))
    for (const { id, email_key } of fresh) {
      const owner = owners.get(email_key)
      const isTheirs = 'select 1 as one from student where id = ? and email_key = ?'
      if (owner === undefined || bench.file.one(isTheirs, owner, email_key)) continue
      count++
      first ||= `${id} has the address of ${owner}`
    }
  }
  if (count === 0) return []
  const reason = `${counted(count, 'student is new by sourcedId but has', 'students are new by sourcedId but have')} an address that another student has or had (${first}), perhaps because the sourcedId changed. With --match address ${count === 1 ? 'they keep their account; if allowed, they get a new one' : 'they keep their accounts; if allowed, they get new ones'}`
  return [{ code: 'identities', reason, numbers: { added: count } }]
}
