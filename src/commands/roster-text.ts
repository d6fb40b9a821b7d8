/** Plans and findings as text and tables. Pure. */
import type { Finding } from '../roster/records.ts'
import { type GenerationRow, isEmpty, isRefused, type Plan, type UndoPlan } from '../roster/roster.ts'

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
const headings = ['now', 'added', 'changed', 'leaving', 'returning', 'then']
const perGroupMax = 5

export function planLines(plan: Plan, verbose: boolean): string[] {
  const { file, counts } = plan
  const modes = [...new Set(Object.values(file.modes))].join(' and ')
  const row = (name: string, cells: (string | number)[]) =>
    name.padEnd(14) + cells.map((cell) => String(cell).padStart(10)).join('')
  return [
    `${file.name}: OneRoster ${file.version}, ${modes}, ${file.rows} rows, sha256 ${file.sha256.slice(0, 12)}…`,
    '',
    row('', headings),
    ...(Object.keys(titles) as Titled[]).map((kind) =>
      row(
        titles[kind],
        columns.map((c) => counts[kind][c]),
      ),
    ),
    '',
    ...inWords(plan),
    ...(verbose ? changeLines(plan) : []),
  ]
}

function inWords(plan: Plan): string[] {
  if (isEmpty(plan)) return ['Nothing would change.']
  const sentences = (['student', 'class', 'enrolment'] as const).flatMap((kind) => {
    const { added, changed, leaving, returning } = plan.counts[kind]
    const parts = [
      added && `${added} new`,
      changed && `${changed} changed`,
      leaving && `${leaving} leaving`,
      returning && `${returning} coming back`,
    ].filter(Boolean)
    return parts.length > 0 ? [`${titles[kind]}: ${parts.join(', ')}.`] : []
  })
  const held = plan.held.map((reason) => `Held: ${reason}.`)
  const hint = plan.held.length > 0 && !isRefused(plan) ? ['If that is right, import it with --force.'] : []
  return [...sentences, ...held, ...hint]
}

function changeLines(plan: Plan): string[] {
  const lines: string[] = ['']
  for (const { kind, sourcedId, operation, before, after } of plan.changes()) {
    lines.push(`${operation.padEnd(9)} ${titles[kind].toLowerCase()} ${sourcedId}`)
    if (operation !== 'changed' || kind === 'student') continue
    for (const [field, value] of Object.entries(after!)) {
      const old = (before as Record<string, unknown>)[field]
      if (JSON.stringify(old) !== JSON.stringify(value)) {
        lines.push(`            ${field}: ${JSON.stringify(old)} → ${JSON.stringify(value)}`)
      }
    }
  }
  return lines
}

/** Shows a few findings of each sort and the number of the others, unless `all` is set. */
export function findingLines(findings: readonly Finding[], all: boolean): string[] {
  const lines: string[] = []
  for (const severity of ['error', 'warning'] as const) {
    const some = findings.filter((finding) => finding.severity === severity)
    if (some.length === 0) continue
    lines.push(
      '',
      `${some.length} ${severity}${some.length === 1 ? '' : 's'}${severity === 'error' ? '; nothing can be imported until they are mended' : ''}:`,
    )
    const groups = Map.groupBy(some, ({ code, file, column }) => `${code} ${file} ${column}`)
    for (const group of groups.values()) {
      const shown = all ? group : group.slice(0, perGroupMax)
      lines.push(...shown.map(findingLine))
      if (shown.length < group.length)
        lines.push(`  … and ${group.length - shown.length} more like this (--verbose shows all)`)
    }
  }
  return lines
}

function findingLine({ file, line, column, value, message }: Finding): string {
  const place = [file, line !== null && `line ${line}`, column].filter(Boolean).join(', ')
  return `  ${place}${value === null ? '' : `: "${value}"`}: ${message}`
}

/** The report is meant for the people who made the file. */
export function reportText(plan: Plan): string {
  const verdict = isRefused(plan)
    ? 'This roster cannot be imported: see the errors below.'
    : plan.held.length > 0
      ? 'This roster is held: please confirm that the changes below are meant.'
      : 'This roster can be imported.'
  return `${['Roster report', '', verdict, '', ...planLines(plan, false), ...findingLines(plan.findings, true)].join('\n')}\n`
}

export function undoLines({ generation, counts }: UndoPlan): string[] {
  return [
    `Undo import ${generation.id} (${generation.file_name}, ${new Date(generation.published_at!).toISOString()}).`,
    `The roster becomes exactly what it was before: ${counts.leaving} students leave, ${counts.returning} come back, ${counts.changed} change.`,
  ]
}

export function summaryWords({ kind, summary }: GenerationRow): string {
  const counts = JSON.parse(summary)
  if (kind === 'undo')
    return `${counts.leaving} students left, ${counts.returning} came back, ${counts.changed} changed`
  const { added, changed, leaving, returning } = counts.student
  return `students: ${added} added, ${changed} changed, ${leaving} left, ${returning} came back`
}
