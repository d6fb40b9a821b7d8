/**
 * Holds about classes that have not ended: those that leave, that lose their students, or that new dates would end. In
 * the holidays these are next term's.
 */
import { counted } from '../../../platform/lib/counted.ts'
import { type Span, type Stage, stageOf } from '../../student/classes.ts'
import type { Ids } from '../compact.ts'
import type { EnrolmentTable } from '../compare/compare.ts'
import type { ClassData, TermData } from '../records.ts'
import type { Case } from './case.ts'
import type { Hold, Limits } from './hold.ts'

const openStages = ['current', 'upcoming'] as const

/** Of what has not ended. */
class Losses {
  readonly before = { current: 0, upcoming: 0 }
  leaving = 0
  /** Those that stay, but lose their stage by new dates. */
  readonly ending = { current: 0, upcoming: 0 }

  get all(): number {
    return this.before.current + this.before.upcoming
  }
}

export async function* classHolds(roster: Case, limits: Limits): AsyncGenerator<Hold> {
  const { isMore, beyond } = limits
  const stages = new Stages(roster)
  const classes = lostClasses(roster, stages)
  const { enrolments, emptied } = await lostEnrolments(roster, stages)
  const { before } = roster.students.counts
  if (isMore('terms', emptied, before)) {
    const reason = `${emptied} of ${counted(before, 'student', 'students')} would no longer have a current class ${beyond('terms')}`
    yield { code: 'terms', reason, numbers: { emptied, before } }
  } else yield* endingHolds(classes, enrolments, limits)
  if (isMore('classes', classes.leaving, classes.all)) {
    const of = counted(classes.all, 'class that has not ended', 'classes that have not ended')
    const reason = `${classes.leaving} of ${of} would leave ${beyond('classes')}`
    yield { code: 'classes', reason, numbers: { leaving: classes.leaving, before: classes.all } }
  }
  if (isMore('enrolments', enrolments.leaving, enrolments.all)) {
    const of = counted(enrolments.all, 'enrolment', 'enrolments')
    const reason = `${enrolments.leaving} of ${of} in classes that have not ended would leave ${beyond('enrolments')}`
    yield { code: 'enrolments', reason, numbers: { leaving: enrolments.leaving, before: enrolments.all } }
  }
}

/** One at most: they have the same cause. */
function* endingHolds(classes: Losses, enrolments: Losses, { isMore, beyond }: Limits): Generator<Hold> {
  const kinds = [
    { of: classes, one: 'class', many: 'classes', current: 'classesEnding', upcoming: 'classesOver' },
    {
      ...{ of: enrolments, one: 'enrolment', many: 'enrolments' },
      ...{ current: 'enrolmentsEnding', upcoming: 'enrolmentsOver' },
    },
  ]
  for (const kind of kinds)
    for (const stage of openStages) {
      const [ending, before] = [kind.of.ending[stage], kind.of.before[stage]]
      if (!isMore('terms', ending, before)) continue
      const which = counted(before, `${stage} ${kind.one}`, `${stage} ${kind.many}`)
      const end = stage === 'current' ? 'not be current' : 'be over'
      const reason = `${ending} of ${which} would ${end} by the new dates ${beyond('terms')}`
      yield { code: 'terms', reason, numbers: { [kind[stage]]: ending, before } }
      return
    }
}

function lostClasses({ next }: Case, stages: Stages): Losses {
  const losses = new Losses()
  for (const { id, isNow } of next.class.sides()) {
    const stage = isNow ? stages.ofClassNow(id) : 'past'
    if (stage === 'past') continue
    losses.before[stage]++
    if (!next.class.has(id)) losses.leaving++
    else if (isLost(stage, stages.ofClassThen(id))) losses.ending[stage]++
  }
  return losses
}

/** `emptied`: how many students have a current class and would have none. */
async function lostEnrolments(
  roster: Case,
  stages: Stages,
): Promise<{ enrolments: Losses; emptied: number }> {
  const { next, students, standing } = roster
  const { names } = next.enrolment.parts
  const enrolments = new Losses()
  const accounts = accountsIn(roster)
  // By number of the account.
  const [now, then] = [new Uint8Array(names.size), new Uint8Array(names.size)]
  // Some systems give enrolments new ids in every export, so they are compared by student and class.
  const pairOf = (table: EnrolmentTable, row: number) =>
    accounts.of(table.userAt(row)) * names.size + table.classAt(row)
  const leaving = new Set<number>()
  // Those that leave, and those that stay.
  const lost = { current: new Set<number>(), upcoming: new Set<number>() }
  next.enrolment.each((table, row, isNow, isThen) => {
    if (table.restAt(row).role !== 'student') return
    const user = accounts.of(table.userAt(row))
    const stageThen = isThen ? stages.ofRowThen(table, row) : 'past'
    if (stageThen === 'current') then[user] = 1
    const stage = isNow ? stages.ofRowNow(table, row) : 'past'
    if (stage === 'past') return
    enrolments.before[stage]++
    if (stage === 'current') now[user] = 1
    // Whoever leaves takes their enrolments along, which is counted among the leavers.
    if (!isLost(stage, stageThen) || !accounts.stays(user)) return
    lost[stage].add(pairOf(table, row))
    if (!isThen) leaving.add(pairOf(table, row))
  })
  const anyLost = lost.current.size + lost.upcoming.size > 0
  if (anyLost)
    next.enrolment.each((table, row, _isNow, isThen) => {
      if (!isThen || table.restAt(row).role !== 'student') return
      const [pair, stageThen] = [pairOf(table, row), stages.ofRowThen(table, row)]
      leaving.delete(pair)
      for (const stage of openStages) if (!isLost(stage, stageThen)) lost[stage].delete(pair)
    })
  if (standing.sizes && anyLost) {
    const sizes = await standing.enrolmentsBy((id) => stages.ofClassNow(id))
    for (const stage of openStages) enrolments.before[stage] = sizes.get(stage) ?? 0
  }
  enrolments.leaving = leaving.size
  for (const stage of openStages) enrolments.ending[stage] = lost[stage].difference(leaving).size
  const matched = new Map(students.matched())
  const emptied = students.rows().reduce((sum, row) => {
    const id = students.idAt(row)
    const user = names.find(matched.get(id) ?? id)
    const isHere = ['same', 'changed'].includes(students.stateOf(row))
    return isHere && user >= 0 && now[user] === 1 && then[user] === 0 ? sum + 1 : sum
  }, 0)
  return { enrolments, emptied }
}

/** An account that is matched to a new sourcedId is one account: by the number of the sourcedId that it has now. */
function accountsIn({ next, students }: Case) {
  const { names } = next.enrolment.parts
  const now = new Map<number, number>()
  const kept = new Set<number>()
  for (const [id, from] of students.matched()) {
    kept.add(names.find(from))
    if (names.find(id) >= 0 && names.find(from) >= 0) now.set(names.find(id), names.find(from))
  }
  return {
    of: (user: number) => now.get(user) ?? user,
    stays: (user: number) => kept.has(user) || students.has(names.at(user)),
  }
}

/** A class may begin earlier than planned; whatever is current should stay so. */
function isLost(before: 'current' | 'upcoming', then: Stage): boolean {
  return before === 'current' ? then !== 'current' : then === 'past'
}

/** What the day makes of classes and enrolments, before and after. An absent class is past. */
class Stages {
  readonly #roster: Case
  readonly #spansNow: (number: number) => Span | null
  readonly #spansThen: (number: number) => Span | null

  constructor(roster: Case) {
    const { names } = roster.next.enrolment.parts
    this.#roster = roster
    this.#spansNow = spans(names, (id) => this.#spanNow(id))
    this.#spansThen = spans(names, (id) => this.#spanThen(id))
  }

  ofClassNow(id: string): Stage {
    return this.#stageOf(this.#spanNow(id), wholeTerm)
  }

  ofClassThen(id: string): Stage {
    return this.#stageOf(this.#spanThen(id), wholeTerm)
  }

  ofRowNow(table: EnrolmentTable, row: number): Stage {
    return this.#stageOf(this.#spansNow(table.classAt(row)), table.restAt(row))
  }

  ofRowThen(table: EnrolmentTable, row: number): Stage {
    return this.#stageOf(this.#spansThen(table.classAt(row)), table.restAt(row))
  }

  #spanNow(id: string): Span | null {
    const { next } = this.#roster
    return spanOf(next.class.before(id), (term) => next.term.before(term))
  }

  #spanThen(id: string): Span | null {
    const { next } = this.#roster
    return spanOf(next.class.get(id), (term) => next.term.get(term))
  }

  #stageOf(span: Span | null, { startDate, endDate }: OwnDates): Stage {
    if (span === null) return 'past'
    return stageOf({ start: startDate ?? span.start, end: endDate ?? span.end }, this.#roster.today)
  }
}

interface OwnDates {
  readonly startDate: string | null
  readonly endDate: string | null
}

const wholeTerm: OwnDates = { startDate: null, endDate: null }

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
