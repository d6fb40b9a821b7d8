/** What somebody should confirm before it happens. Each hold has a code, by which it is allowed. Pure. */
import { isWhen, type Span } from '../../student/classes.ts'
import {
  type Comparison,
  type Counts,
  type CurrentRoster,
  matchesBy,
  type NextRoster,
  type PlanKind,
  parseData,
} from '../compare/compare.ts'
import type { EnrolmentData, Mode, RoleData, UserData } from '../records.ts'
import type { Case } from './case.ts'

export const holdCodes = [
  'leavers',
  'changes',
  'teachers',
  'terms',
  'addresses',
  'identities',
  'mode',
  'stale',
] as const
export type HoldCode = (typeof holdCodes)[number]

export interface Hold {
  readonly code: HoldCode
  /** A sentence without its full stop. */
  readonly reason: string
  readonly numbers: Readonly<Record<string, number>>
}

const leaversShareMax = 0.1
const leaversMin = 4
const changesShareMax = 0.75
const teachersShareMax = 0.25
const termsShareMax = 0.25
const addressesShareMax = 0.1
const mostShare = 0.5
// Of classes and enrolments; people count whatever their number.
const smallKind = 20
// One person alone is looked at, not confirmed.
const peopleMin = 2

/** `other` compares the same file in another mode. */
export function findHolds(roster: Case, other: (mode: Mode) => Comparison): Hold[] {
  return [...holdsOf(roster, other)]
}

function* holdsOf(roster: Case, other: (mode: Mode) => Comparison): Generator<Hold> {
  yield* modeHolds(roster, other)
  if (isEmpty(roster.counts)) return
  yield* staleHolds(roster)
  yield* leaverHolds(roster)
  yield* changeHolds(roster)
  yield* teacherHolds(roster)
  yield* termHolds(roster)
  yield* addressHolds(roster)
  yield* identityHolds(roster)
}

function isEmpty(counts: Comparison['counts']): boolean {
  return Object.values(counts).every(
    ({ added, changed, leaving, returning }) => added + changed + leaving + returning === 0,
  )
}

const leaveWords = (count: number) => (count === 1 ? '1 student' : `${count} students`)

/** Says what either reading would do where the set does not say, or says two things at once. */
function* modeHolds(roster: Case, other: (mode: Mode) => Comparison): Generator<Hold> {
  const { file, counts } = roster
  const doubt = modeDoubt(roster)
  const reading = wholeMode(roster)
  if (doubt === null || reading === null) return
  const otherwise = other(reading === 'bulk' ? 'delta' : 'bulk').counts
  const isSame = JSON.stringify(counts) === JSON.stringify(otherwise)
  if (isSame && (file.modeFrom !== 'rows' || isEmpty(counts))) return
  const [bulk, delta] = reading === 'bulk' ? [counts, otherwise] : [otherwise, counts]
  const numbers = { leavingAsBulk: bulk.student.leaving, leavingAsDelta: delta.student.leaving }
  yield {
    code: 'mode',
    reason: `${doubt}. As the whole roster (--bulk) ${leaveWords(numbers.leavingAsBulk)} would leave, as changes alone (--delta) ${leaveWords(numbers.leavingAsDelta)}`,
    numbers,
  }
}

function wholeMode({ file }: Case): Mode | null {
  const modes = new Set(Object.values(file.modes))
  return modes.size === 1 ? [...modes][0]! : null
}

function modeDoubt(roster: Case): string | null {
  const { file, incoming, current } = roster
  if (file.rows === 0 || file.modeFrom === 'caller') return null
  if (file.modeFrom === 'rows') return 'no manifest says whether this is the whole roster or changes alone'
  const reading = wholeMode(roster)
  if (reading === 'delta' && file.form === 'bare')
    return 'the manifest says delta, but no row has a status or a date, as in a whole roster'
  if (reading !== 'bulk' || file.form !== 'dated') return null
  // Exporters do write dates into a whole roster. But that names most of those who stand.
  const [records, deleted] = [incoming.records.get('user'), incoming.deleted.get('user')]
  let named = 0
  for (const id of current.students.keys()) if (records?.has(id) || deleted?.has(id)) named++
  if (named >= current.students.size * mostShare) return null
  return 'the manifest says bulk, but every row has a status and a date and most students are not named, as in a delta'
}

function* staleHolds({ file, current }: Case): Generator<Hold> {
  const imports = current.lineage.filter(({ kind }) => kind === 'import')
  const again = imports.findIndex(({ sha256 }) => sha256 === file.sha256)
  if (again > 0) {
    const { id } = imports[again]!
    const reason = `this very file was imported before, as number ${id}, and others came after it`
    yield { code: 'stale', reason, numbers: { generation: id } }
    return
  }
  if (!Object.values(file.modes).includes('delta') || file.newestRowAt === null) return
  const newest = imports.reduce((max, { newest_row_at }) => Math.max(max, newest_row_at ?? 0), 0)
  if (file.newestRowAt >= newest) return
  const [here, there] = [file.newestRowAt, newest].map((at) => new Date(at).toISOString())
  const reason = `this delta is older than what stands: its newest change is of ${here}, and one of ${there} was imported already`
  yield { code: 'stale', reason, numbers: { newestRowAt: file.newestRowAt, newestStandingAt: newest } }
}

function* leaverHolds({ counts, file }: Case): Generator<Hold> {
  const { before, leaving } = counts.student
  if (leaving >= leaversMin && leaving > before * leaversShareMax) {
    const reason = `${leaving} of ${before} students would leave (more than 10 %)`
    yield { code: 'leavers', reason, numbers: { leaving, before } }
  } else if (leaving > 0 && leaving === before && file.modes.user === 'bulk') {
    yield { code: 'leavers', reason: 'nobody would be left on the roster', numbers: { leaving, before } }
  }
}

const words: Readonly<Partial<Record<PlanKind, string>>> = {
  student: 'students',
  class: 'classes',
  enrolment: 'enrolments',
}

function* changeHolds({ counts }: Case): Generator<Hold> {
  for (const kind of ['student', 'class', 'enrolment'] as const) {
    const { before, changed }: Counts = counts[kind]
    const isFew = kind === 'student' ? changed < peopleMin : before < smallKind
    if (isFew || changed <= before * changesShareMax) continue
    const reason = `${changed} of ${before} ${words[kind]} would change (more than 75 %)`
    yield { code: 'changes', reason, numbers: { changed, before } }
  }
}

function* teacherHolds({ current, next }: Case): Generator<Hold> {
  const standing = teachersIn(
    (id) => {
      const user = current.records.user.get(id)
      return user && parseData<'user'>(user)
    },
    current.enrolments.values(),
    [...current.records.role.values()].map((role) => parseData<'role'>(role)),
    (id) => current.records.class.has(id),
  )
  for (const [id, record] of current.records.user)
    if (parseData<'user'>(record).role === 'teacher') standing.byRole.add(id)
  const then = teachersIn(
    (id) => next.user.get(id)?.data,
    next.enrolment.values(),
    [...next.role.values()].map(({ data }) => data),
    (id) => next.class.has(id),
  )
  for (const [id, { data }] of next.user) if (data.role === 'teacher') then.byRole.add(id)
  const before = new Set([...standing.byRole, ...standing.teaching])
  let vanishing = 0
  for (const id of before) {
    const isGone = standing.byRole.has(id) && !then.byRole.has(id)
    const isIdle = standing.teaching.has(id) && !then.teaching.has(id)
    if (isGone || isIdle) vanishing++
  }
  if (vanishing <= before.size * teachersShareMax) return
  const reason = `${vanishing} of ${before.size} teachers would vanish (more than 25 %)`
  yield { code: 'teachers', reason, numbers: { vanishing, before: before.size } }
}

function teachersIn(
  user: (id: string) => UserData | undefined,
  enrolments: Iterable<{ readonly data: EnrolmentData }>,
  roles: Iterable<RoleData>,
  hasClass: (id: string) => boolean,
): { byRole: Set<string>; teaching: Set<string> } {
  const byRole = new Set<string>()
  const teaching = new Set<string>()
  for (const { role, userId } of roles) if (role === 'teacher' && user(userId)) byRole.add(userId)
  for (const { data } of enrolments) {
    if (data.role !== 'teacher' || teaching.has(data.userId) || !hasClass(data.classId)) continue
    if (user(data.userId)) teaching.add(data.userId)
  }
  return { byRole, teaching }
}

function* termHolds({ current, next, students, today }: Case): Generator<Hold> {
  const now = studentsInClass(current.enrolments.values(), spansNow(current), today)
  const then = studentsInClass(next.enrolment.values(), spansThen(next), today)
  let emptied = 0
  for (const id of current.students.keys()) if (now.has(id) && students.has(id) && !then.has(id)) emptied++
  const before = current.students.size
  if (emptied <= before * termsShareMax) return
  const reason = `${emptied} of ${before} students would have no current class any more (more than 25 %)`
  yield { code: 'terms', reason, numbers: { emptied, before } }
}

type Spans = (classId: string) => Span | undefined

function studentsInClass(
  enrolments: Iterable<{ readonly data: EnrolmentData }>,
  spans: Spans,
  today: string,
): Set<string> {
  const found = new Set<string>()
  for (const { data } of enrolments) {
    if (data.role !== 'student' || found.has(data.userId)) continue
    const span = spans(data.classId)
    if (!span) continue
    const own = { start: data.startDate ?? span.start, end: data.endDate ?? span.end }
    if (isWhen(own, 'current', today)) found.add(data.userId)
  }
  return found
}

function spanOfTerms(terms: readonly { readonly startDate: string; readonly endDate: string }[]): Span {
  const starts = terms.map(({ startDate }) => startDate).sort()
  const ends = terms.map(({ endDate }) => endDate).sort()
  return { start: starts[0] ?? null, end: ends.at(-1) ?? null }
}

function remembered(make: Spans): Spans {
  const known = new Map<string, Span | undefined>()
  return (id) => {
    if (!known.has(id)) known.set(id, make(id))
    return known.get(id)
  }
}

const spansNow = ({ records }: CurrentRoster) =>
  remembered((id) => {
    const record = records.class.get(id)
    const terms = record && parseData<'class'>(record).termIds.map((termId) => records.term.get(termId))
    return terms && spanOfTerms(terms.flatMap((term) => (term ? [parseData<'term'>(term)] : [])))
  })

const spansThen = (next: NextRoster) =>
  remembered((id) => {
    const termIds = next.class.get(id)?.data.termIds
    return termIds && spanOfTerms(termIds.flatMap((termId) => next.term.get(termId)?.data ?? []))
  })

function* addressHolds({ current, students }: Case): Generator<Hold> {
  let before = 0
  let changed = 0
  for (const { email_key } of current.students.values()) if (email_key !== null) before++
  for (const { before: standing, fields } of students.values())
    if (standing && standing.email_key !== null && standing.email_key !== fields.email_key) changed++
  if (changed < peopleMin || changed <= before * addressesShareMax) return
  const reason = `the addresses of ${changed} of ${before} students would change (more than 10 %), and these would be signed out`
  yield { code: 'addresses', reason, numbers: { changed, before } }
}

/** New sourcedIds for most: the school has changed its system, or the way it exports. */
function* identityHolds(roster: Case): Generator<Hold> {
  const { current, students, counts } = roster
  if (current.students.size === 0) return
  const { added, after, leaving, before } = counts.student
  if (added > after * mostShare && leaving > before * mostShare) {
    const fields = new Map([...students].map(([id, student]) => [id, student.fields]))
    const byNumber = matchesBy('number', current, fields).size
    const byAddress = matchesBy('address', current, fields).size
    const reason = `${added} of ${after} students have a sourcedId that is new, and would get new accounts. By student number ${byNumber} could keep theirs (--match number), by address ${byAddress} (--match address)`
    yield { code: 'identities', reason, numbers: { added, after, byNumber, byAddress } }
    return
  }
  yield* movedAddresses(roster)
}

/** A new student with an address that another student has or had is probably the same person under a new sourcedId. */
function* movedAddresses({ current, students }: Case): Generator<Hold> {
  const owners = new Map(current.formerAddresses)
  for (const [id, { email_key }] of current.students) if (email_key !== null) owners.set(email_key, id)
  let count = 0
  let first = ''
  for (const [id, { fields, isKnown, matchedFrom }] of students) {
    if (isKnown || matchedFrom !== null || fields.email_key === null) continue
    const owner = owners.get(fields.email_key)
    if (owner === undefined || students.get(owner)?.fields.email_key === fields.email_key) continue
    count++
    first ||= `${id} has that of ${owner}`
  }
  if (count === 0) return
  const reason = `${count === 1 ? '1 student is' : `${count} students are`} new by sourcedId with an address that another has or had (${first}): a changed sourcedId? Matched (--match address) they keep their accounts, allowed they get new ones`
  yield { code: 'identities', reason, numbers: { added: count } }
}
