/** Holds: changes that somebody should confirm first. Each has a code, by which it is allowed. */
import { counted } from '../../../platform/lib/counted.ts'
import { isWhen, type Span } from '../../student/classes.ts'
import type { Ids } from '../compact.ts'
import type { Comparison, Counts, EnrolmentTable, Rest } from '../compare/compare.ts'
import type { ClassData, Mode, RosterFile, TermData } from '../records.ts'
import type { HoldCode, HoldShares, SharedHold } from '../words.ts'
import type { Case } from './case.ts'

export interface Hold {
  readonly code: HoldCode
  /** A sentence without its full stop. */
  readonly reason: string
  readonly numbers: Readonly<Record<string, number>>
}

const leaversMin = 4
const mostShare = 0.5
// For classes and enrolments; for people there is no minimum.
const smallKind = 20
// A single person need not be confirmed.
const peopleMin = 2

/** `other` compares the same file in another mode. */
export async function findHolds(
  roster: Case,
  shares: HoldShares,
  other: (mode: Mode) => Promise<Comparison>,
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
  const isMore = (code: SharedHold, count: number, before: number) => count * 100 > before * shares[code]
  const beyond = (code: SharedHold) => `(more than ${shares[code]} %)`
  const limits = { isMore, beyond }
  return [
    ...leaverHolds(roster, limits),
    ...changeHolds(roster, limits),
    ...teacherHolds(roster, limits),
    ...(await currentHolds(roster, limits)),
    ...numberHolds(roster, limits),
    ...addressHolds(roster, limits),
  ]
}

interface Limits {
  isMore(code: SharedHold, count: number, before: number): boolean
  beyond(code: SharedHold): string
}

function isEmpty(counts: Comparison['counts']): boolean {
  return Object.values(counts).every(
    ({ added, changed, leaving, returning }) => added + changed + leaving + returning === 0,
  )
}

const studentsOf = (count: number) => counted(count, 'student', 'students')

/** Describes both readings if the set does not declare its mode or contradicts itself. */
async function modeHolds(roster: Case, other: (mode: Mode) => Promise<Comparison>): Promise<Hold[]> {
  const { file, counts } = roster
  const doubt = modeDoubt(roster)
  const reading = wholeMode(file)
  if (doubt === null || reading === null) return []
  const otherwise = (await other(reading === 'bulk' ? 'delta' : 'bulk')).counts
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
  if (students.namedBefore >= students.counts.before * mostShare) return null
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

function* teacherHolds({ next }: Case, { isMore, beyond }: Limits): Generator<Hold> {
  const [now, then] = [new Teachers(), new Teachers()]
  for (const { id, data, isNow, isThen } of next.user.sides()) {
    if (data.role !== 'teacher') continue
    if (isNow) now.byRole.add(id)
    if (isThen) then.byRole.add(id)
  }
  for (const { data, isNow, isThen } of next.role.sides()) {
    if (data.role !== 'teacher') continue
    if (isNow && next.user.before(data.userId)) now.byRole.add(data.userId)
    if (isThen && next.user.has(data.userId)) then.byRole.add(data.userId)
  }
  next.enrolment.each((table, row, isNow, isThen) => {
    if (table.restAt(row).role !== 'teacher') return
    const { userId, classId } = table.dataAt(row)
    if (isNow && next.class.before(classId) && next.user.before(userId)) now.teaching.add(userId)
    if (isThen && next.class.has(classId) && next.user.has(userId)) then.teaching.add(userId)
  })
  const before = new Set([...now.byRole, ...now.teaching])
  let vanishing = 0
  for (const id of before) {
    const isGone = now.byRole.has(id) && !then.byRole.has(id)
    const isIdle = now.teaching.has(id) && !then.teaching.has(id)
    if (isGone || isIdle) vanishing++
  }
  if (!isMore('teachers', vanishing, before.size)) return
  const reason = `${vanishing} of ${counted(before.size, 'teacher', 'teachers')} would leave ${beyond('teachers')}`
  yield { code: 'teachers', reason, numbers: { vanishing, before: before.size } }
}

class Teachers {
  readonly byRole = new Set<string>()
  readonly teaching = new Set<string>()
}

/** Classes that meet today, and who is in them. */
async function currentHolds(roster: Case, { isMore, beyond }: Limits): Promise<Hold[]> {
  const { next, students, standing, today } = roster
  const { names } = next.enrolment.parts
  // By number of the user: whether they have a class today.
  const [now, then] = [new Uint8Array(names.size), new Uint8Array(names.size)]
  const spanNow = (id: string) => spanOf(next.class.before(id), (term) => next.term.before(term))
  const spansNow = spans(names, spanNow)
  const spanThen = (id: string) => spanOf(next.class.get(id), (term) => next.term.get(term))
  const spansThen = spans(names, spanThen)
  const isCurrent = ({ startDate, endDate }: Pick<Rest, 'startDate' | 'endDate'>, span: Span | null) =>
    span !== null && isWhen({ start: startDate ?? span.start, end: endDate ?? span.end }, 'current', today)
  const isMeeting = (id: string) => isCurrent(wholeTerm, spanNow(id))
  // Some systems give enrolments new ids in every export, so they are compared by student and class.
  const pairOf = (table: EnrolmentTable, row: number) => table.userAt(row) * names.size + table.classAt(row)
  const leaving = new Set<number>()
  // Those that leave, and those that stay but are over by their own dates or those of the class.
  const ending = new Set<number>()
  const enrolments = { before: 0, leaving: 0 }
  next.enrolment.each((table, row, isNow, isThen) => {
    const [user, rest] = [table.userAt(row), table.restAt(row)]
    if (rest.role !== 'student') return
    if (isNow && isCurrent(rest, spansNow(table.classAt(row)))) {
      now[user] = 1
      enrolments.before++
      const isCurrentThen = isThen && isCurrent(rest, spansThen(table.classAt(row)))
      // Whoever leaves takes their enrolments along, which is counted among the leavers.
      if (!isCurrentThen && students.has(names.at(user))) {
        ending.add(pairOf(table, row))
        if (!isThen) leaving.add(pairOf(table, row))
      }
    }
    if (isThen && then[user] === 0 && isCurrent(rest, spansThen(table.classAt(row)))) then[user] = 1
  })
  if (ending.size > 0)
    next.enrolment.each((table, row, _isNow, isThen) => {
      const rest = table.restAt(row)
      if (!isThen || rest.role !== 'student') return
      leaving.delete(pairOf(table, row))
      if (isCurrent(rest, spansThen(table.classAt(row)))) ending.delete(pairOf(table, row))
    })
  enrolments.leaving = leaving.size
  if (standing.sizes && ending.size > 0) enrolments.before = await standing.enrolmentsOf(isMeeting)
  const holds: Hold[] = []
  let emptied = 0
  for (const row of students.rows()) {
    if (students.stateOf(row) !== 'same' && students.stateOf(row) !== 'changed') continue
    const user = names.find(students.idAt(row))
    if (user >= 0 && now[user] === 1 && then[user] === 0) emptied++
  }
  const classes = { before: 0, leaving: 0 }
  let classesEnding = 0
  for (const { id, isNow } of next.class.sides()) {
    if (!isNow || !isMeeting(id)) continue
    classes.before++
    if (!next.class.has(id)) classes.leaving++
    else if (!isCurrent(wholeTerm, spanThen(id))) classesEnding++
  }
  const enrolmentsEnding = ending.size - leaving.size
  const { before } = students.counts
  if (isMore('terms', emptied, before)) {
    const reason = `${emptied} of ${studentsOf(before)} would no longer have a current class ${beyond('terms')}`
    holds.push({ code: 'terms', reason, numbers: { emptied, before } })
  } else if (isMore('terms', classesEnding, classes.before)) {
    const reason = `${classesEnding} of ${counted(classes.before, 'current class', 'current classes')} would not be current by the new dates ${beyond('terms')}`
    holds.push({ code: 'terms', reason, numbers: { classesEnding, before: classes.before } })
  } else if (isMore('terms', enrolmentsEnding, enrolments.before)) {
    const reason = `${enrolmentsEnding} of ${counted(enrolments.before, 'current enrolment', 'current enrolments')} would not be current by the new dates ${beyond('terms')}`
    holds.push({ code: 'terms', reason, numbers: { enrolmentsEnding, before: enrolments.before } })
  }
  if (isMore('classes', classes.leaving, classes.before)) {
    const reason = `${classes.leaving} of ${counted(classes.before, 'current class', 'current classes')} would leave ${beyond('classes')}`
    holds.push({ code: 'classes', reason, numbers: classes })
  }
  if (isMore('enrolments', enrolments.leaving, enrolments.before)) {
    const reason = `${enrolments.leaving} of ${counted(enrolments.before, 'enrolment', 'enrolments')} in current classes would leave ${beyond('enrolments')}`
    holds.push({ code: 'enrolments', reason, numbers: enrolments })
  }
  return holds
}

const wholeTerm = { startDate: null, endDate: null }

/** By number of the class, each built once; null if there is no such class. */
function spans(names: Ids, make: (id: string) => Span | null): (number: number) => Span | null {
  const known: (Span | null)[] = []
  return (number) => {
    if (known[number] === undefined) known[number] = make(names.at(number))
    return known[number]
  }
}

function spanOf(data: ClassData | undefined, term: (id: string) => TermData | undefined): Span | null {
  return data ? spanOfTerms(data.termIds.flatMap((id) => term(id) ?? [])) : null
}

function spanOfTerms(terms: readonly { readonly startDate: string; readonly endDate: string }[]): Span {
  const starts = terms.map(({ startDate }) => startDate).sort()
  const ends = terms.map(({ endDate }) => endDate).sort()
  return { start: starts[0] ?? null, end: ends.at(-1) ?? null }
}

/** Those who change, as they are and as they would be. */
function* changing({ students }: Case) {
  for (const row of students.rows()) {
    if (students.stateOf(row) !== 'changed') continue
    const { before, fields } = students.at(row)
    if (before) yield { before, fields }
  }
}

function* numberHolds(roster: Case, { isMore, beyond }: Limits): Generator<Hold> {
  const before = roster.students.numbersBefore
  let changed = 0
  for (const { before: standing, fields } of changing(roster))
    if (standing.student_number !== null && standing.student_number !== fields.student_number) changed++
  if (changed < peopleMin || !isMore('numbers', changed, before)) return
  const reason = `the student numbers of ${changed} of ${studentsOf(before)} would change ${beyond('numbers')}`
  yield { code: 'numbers', reason, numbers: { changed, before } }
}

function* addressHolds(roster: Case, { isMore, beyond }: Limits): Generator<Hold> {
  const before = roster.students.addressesBefore
  let changed = 0
  for (const { before: standing, fields } of changing(roster))
    if (standing.email_key !== null && standing.email_key !== fields.email_key) changed++
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
async function movedAddresses({ standing, students }: Case): Promise<Hold[]> {
  const isNew = (row: number) => students.stateOf(row) === 'added' && students.keyAt(row) >= 0
  const fresh = students.rows().filter(isNew).toArray()
  const owners = await standing.owners(fresh.map((row) => students.keys.at(students.keyAt(row))))
  let count = 0
  let first = ''
  for (const row of fresh) {
    const owner = owners.get(students.keys.at(students.keyAt(row)))
    if (owner === undefined || students.keyOf(owner) === students.keyAt(row)) continue
    count++
    first ||= `${students.idAt(row)} has the address of ${owner}`
  }
  if (count === 0) return []
  const reason = `${counted(count, 'student is new by sourcedId but has', 'students are new by sourcedId but have')} an address that another student has or had (${first}), perhaps because the sourcedId changed. With --match address ${count === 1 ? 'they keep their account; if allowed, they get a new one' : 'they keep their accounts; if allowed, they get new ones'}`
  return [{ code: 'identities', reason, numbers: { added: count } }]
}
