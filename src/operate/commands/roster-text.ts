/** Plans and findings as lines of text. Text from a file passes through `visible`. */
import { localTime as when } from '../../platform/lib/clock.ts'
import { counted } from '../../platform/lib/counted.ts'
import {
  type Change,
  type Finding,
  fieldsOf,
  type HistoryRow,
  type HoldCode,
  isEmpty,
  isRefused,
  meetingsText,
  openHolds,
  type Plan,
  type Roster,
  type UndoPlan,
} from '../../school/roster/roster.ts'
import { visible } from './command.ts'

const titles = {
  student: 'Students',
  class: 'Classes',
  enrolment: 'Enrolments',
  user: 'People',
  role: 'Roles',
  course: 'Courses',
  term: 'Terms',
  org: 'Organisations',
} as const
type Titled = keyof typeof titles
const columns = ['before', 'added', 'changed', 'leaving', 'returning', 'after'] as const
const headings = ['before', 'added', 'changed', 'leaving', 'returning', 'after']
const perGroupMax = 5
const namedMax = 10
/** With more bad rows than this, the file should be fixed. */
const skippableMax = 100

interface Showing {
  readonly verbose: boolean
  readonly allow: readonly HoldCode[]
}

export function* planLines(plan: Plan, { verbose, allow }: Showing): Generator<string> {
  yield* fileLines(plan)
  yield ''
  yield* tableLines(plan)
  yield ''
  yield* inWords(plan)
  yield* verbose ? changeLines(plan) : someChangeLines(plan)
  yield* correctedLines(plan)
  yield* holdLines(plan, allow)
  yield* findingLines(plan.findings, verbose)
}

/** A refused file has no plan, only findings. */
export function* refusalLines(plan: Plan, verbose: boolean): Generator<string> {
  yield* fileLines(plan)
  yield* findingLines(plan.findings, verbose)
  const { badRows, failsAsAWhole } = plan
  if (badRows > 0 && badRows <= skippableMax && !failsAsAWhole) {
    const [them, records] = badRows === 1 ? ['it', 'its record stays'] : ['them', 'their records stay']
    yield ''
    yield `${counted(badRows, 'row is', 'rows are')} bad. --skip-bad-rows ${badRows} would skip ${them} and import the rest; ${records} unchanged.`
  }
}

/** For the people who made the file. */
export function* reportLines(plan: Plan): Generator<string> {
  const verdict = isRefused(plan)
    ? 'This roster cannot be imported: see the errors below.'
    : plan.holds.length > 0
      ? 'This roster is held: please confirm that the changes below are intended.'
      : 'This roster can be imported.'
  yield* ['Roster report', '', verdict, '']
  yield* isRefused(plan) ? refusalLines(plan, true) : planLines(plan, { verbose: true, allow: [] })
}

function* fileLines({ file, badRows, skipsBadRows }: Plan): Generator<string> {
  const modes = [...new Set(Object.values(file.modes))].join(' and ')
  const about =
    modes === '' ? 'no roster' : `OneRoster ${file.version}, ${modes}, ${counted(file.rows, 'row', 'rows')}`
  yield `${visible(file.name)}: ${about}, sha256 ${file.sha256.slice(0, 12)}…`
  if (file.missing.length > 0 && file.rows > 0)
    yield `Not in the file, so unchanged: ${file.missing.join(', ')}.`
  if (skipsBadRows)
    yield `${counted(badRows, 'row is', 'rows are')} bad and will be skipped; ${badRows === 1 ? 'its record stays' : 'their records stay'} unchanged.`
}

function* tableLines({ counts }: Plan): Generator<string> {
  const row = (name: string, cells: readonly (string | number)[]) =>
    name.padEnd(14) + cells.map((cell) => String(cell).padStart(10)).join('')
  yield row('', headings)
  for (const kind of Object.keys(titles) as Titled[])
    yield row(
      titles[kind],
      columns.map((c) => counts[kind][c]),
    )
}

function* inWords(plan: Plan): Generator<string> {
  if (isEmpty(plan)) yield 'Nothing would change.'
  for (const kind of ['student', 'class', 'enrolment'] as const) {
    const { added, changed, leaving, returning } = plan.counts[kind]
    const parts = [
      added && `${added} new`,
      changed && `${changed} changed`,
      leaving && `${leaving} leaving`,
      returning && `${returning} returning`,
    ].filter(Boolean)
    if (parts.length > 0) yield `${titles[kind]}: ${parts.join(', ')}.`
  }
}

/** The first few changes of each kind that people ask about. */
function* someChangeLines(plan: Plan): Generator<string> {
  const groups = new Map<string, { lines: string[]; total: number }>()
  const wanted = (plan.counts.student.before === 0 ? [] : ['student', 'class']) as Titled[]
  for (const kind of wanted)
    for (const operation of ['leaving', 'changed', 'returning', 'added'] as const) {
      const total = plan.counts[kind][operation]
      if (total > 0) groups.set(`${titles[kind]}, ${operation}`, { lines: [], total })
    }
  let missing = [...groups.values()].reduce((sum, { total }) => sum + Math.min(total, namedMax), 0)
  for (const change of missing > 0 ? plan.changes() : []) {
    const group = groups.get(`${titles[change.kind]}, ${change.operation}`)
    if (!group || group.lines.length >= namedMax) continue
    group.lines.push(`  ${changeText(change)}`)
    missing--
    if (missing === 0) break
  }
  for (const [title, { lines, total }] of groups) {
    yield ''
    yield `${title}:`
    yield* lines
    if (total > lines.length) yield `  … and ${total - lines.length} more (--verbose or --report lists all)`
  }
}

function* changeLines(plan: Plan): Generator<string> {
  yield ''
  for (const change of plan.changes())
    yield `${change.operation.padEnd(9)} ${titles[change.kind].toLowerCase()} ${visible(change.sourcedId)}: ${changeText(change)}`
}

function changeText(change: Change): string {
  const { kind, operation, name, studentNumber, before, after } = change
  const shown = (after ?? before) as { email?: string | null }
  const who = [visible(name), studentNumber && `number ${visible(studentNumber)}`]
  if (operation === 'changed') {
    const fields = fieldsOf(change).map(
      ({ field, before: b, after: a }) => `${field} ${value(b)} → ${value(a)}`,
    )
    return `${who.filter(Boolean).join(', ')}: ${fields.join('; ') || 'a new sourcedId'}`
  }
  if (kind === 'student') who.push(visible(shown.email ?? 'no address'))
  return who.filter(Boolean).join(', ')
}

function value(of: unknown): string {
  if (of === null || of === '' || (Array.isArray(of) && of.length === 0)) return 'nothing'
  if (!Array.isArray(of)) return visible(String(of))
  const isMeetings = typeof of[0] === 'object'
  return visible(isMeetings ? meetingsText(of) : of.join(', '))
}

function* correctedLines({ students }: Plan): Generator<string> {
  const lines: string[] = []
  for (const { fields, correction } of students.corrected()) {
    if (!correction) continue
    const { left, inFile } = correction
    const who = visible(`${fields.firstname} ${fields.lastname}`.trim())
    if (left === null) lines.push(`  ${who}: the file now agrees, so the correction ends`)
    else {
      const kept = (['email', 'firstname', 'lastname'] as const).filter((name) => left[name] !== null)
      const texts = kept.map((name) => `${name} ${value(left[name])} (${value(inFile[name])} in the file)`)
      lines.push(`  ${who}: ${texts.join('; ')}`)
    }
  }
  if (lines.length === 0) return
  yield ''
  yield 'Corrected by hand ("chiron roster correct"):'
  yield* lines
}

function* holdLines(
  { holds }: Pick<Plan, 'holds'>,
  allow: readonly HoldCode[],
  what = 'import',
): Generator<string> {
  if (holds.length === 0) return
  yield ''
  for (const { code, reason } of holds)
    yield `${allow.includes(code) ? 'Allowed' : 'Held'} (${code}): ${visible(reason)}.`
  const open = openHolds(holds, allow)
  const others = open.filter((code) => code !== 'mode')
  const options = [
    open.includes('mode') && '--bulk or --delta',
    others.length > 0 && `--allow ${others.join(',')}`,
  ]
  if (open.length > 0) yield `If this is intended, ${what} with ${options.filter(Boolean).join(' and ')}.`
}

/** Shows a few findings of each kind and counts the others, unless `all` is set. */
export function* findingLines(findings: readonly Finding[], all: boolean): Generator<string> {
  for (const severity of ['error', 'warning'] as const) {
    const some = findings.filter((finding) => finding.severity === severity)
    if (some.length === 0) continue
    const mended = some.length === 1 ? 'it is' : 'they are'
    const refusal = severity === 'error' ? `; nothing can be imported until ${mended} fixed` : ''
    yield ''
    yield `${counted(some.length, severity, `${severity}s`)}${refusal}:`
    const groups = Map.groupBy(some, ({ code, file, column }) => `${code} ${file} ${column}`)
    let told = ''
    for (const group of groups.values()) {
      const shown = all ? group : group.slice(0, perGroupMax)
      for (const finding of shown) {
        yield findingLine(finding, told)
        told = finding.message
      }
      if (shown.length < group.length)
        yield `  … and ${group.length - shown.length} more like this (--verbose shows all)`
    }
  }
}

/** `told`: the message of the line before, which is not repeated. */
function findingLine({ file, line, column, value: found, message }: Finding, told: string): string {
  const place = [file, line !== null && `line ${line}`, column].filter(Boolean).join(', ')
  const text = message === told ? 'the same' : message
  return `  ${visible(`${place}${found === null ? '' : `: "${found}"`}: ${text}`)}`
}

export function* undoLines(plan: UndoPlan, timeZone: string, { verbose, allow }: Showing): Generator<string> {
  const { undone, counts, content } = plan
  for (const one of undone) {
    const allowed = one.allowed === '' ? '' : `; allowed: ${one.allowed.replaceAll(',', ', ')}`
    yield `Undo number ${one.id}: ${whatOf(one)}, ${when(one.published_at!, timeZone)}, by ${visible(one.actor ?? 'unknown')}${allowed}.`
  }
  const target = content === 0 ? 'an empty roster' : `exactly what it was after number ${content}`
  yield `The roster becomes ${target}: ${counted(counts.leaving, 'student leaves', 'students leave')}, ${counted(counts.returning, 'returns', 'return')}, ${counted(counts.changed, 'changes', 'change')}.`
  let shown = 0
  const total = counts.leaving + counts.returning + counts.changed
  for (const change of plan.changes()) {
    if (!verbose && shown === namedMax) break
    yield `  ${change.operation.padEnd(9)} ${changeText(change)}`
    shown++
  }
  if (total > shown) yield `  … and ${total - shown} more (--verbose lists all)`
  yield* holdLines(plan, allow, 'go back')
}

type Generation = UndoPlan['undone'][number]

function whatOf(g: Generation): string {
  if (g.kind === 'correction') return 'a correction by hand'
  if (g.kind === 'undo') return `back to number ${g.content}`
  return `${visible(g.file_name)}, OneRoster ${g.version}, ${counted(g.rows, 'row', 'rows')}`
}

export function historyLines(
  g: HistoryRow,
  timeZone: string,
  { canGoBack }: { canGoBack: boolean },
): string[] {
  const who = g.actor_name?.trim() ? `${g.actor_name.trim()} (${g.actor})` : (g.actor ?? 'unknown')
  const sha = g.kind === 'import' ? `  sha256 ${g.sha256.slice(0, 12)}…` : ''
  const what = g.kind === 'undo' ? `undo of ${g.parent}, ${whatOf(g)}` : whatOf(g)
  const allowed = g.allowed === '' ? '' : `; allowed: ${g.allowed.replaceAll(',', ', ')}`
  return [
    `${String(g.id).padStart(4)}  ${when(g.published_at!, timeZone)}  by ${visible(who)}  ${what}${sha}`,
    `      ${summaryWords(g)}${allowed}${canGoBack ? `; undo --to ${g.id} goes back to it` : ''}`,
  ]
}

function summaryWords({ kind, summary }: Generation): string {
  const counts = JSON.parse(summary)
  if (kind === 'correction') return counts.removed ? 'a correction was removed' : 'one student was corrected'
  if (kind === 'undo')
    return `${counted(counts.leaving, 'student', 'students')} left, ${counts.returning} returned, ${counts.changed} changed`
  const { added, changed, leaving, returning } = counts.student
  return `students: ${added} added, ${changed} changed, ${leaving} left, ${returning} returned`
}

export function correctionLines(
  one: Awaited<ReturnType<Roster['corrections']>>[number],
  timeZone: string,
): string[] {
  const number = one.studentNumber === null ? '' : `, number ${one.studentNumber}`
  const fields = (['email', 'firstname', 'lastname'] as const).filter((name) => one.corrected[name] !== null)
  return [
    `${visible(one.name + number)}, id ${one.userId}, ${when(one.correctedAt, timeZone)} by ${visible(one.actor)}`,
    ...fields.map(
      (name) => `  ${name}: ${value(one.corrected[name])} (${value(one.inFile[name])} in the file)`,
    ),
  ]
}
