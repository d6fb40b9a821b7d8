/**
 * The mail about a fetch: figures, findings and next steps. It names no students and shows no whole addresses; the
 * operator sees them with the command that the mail gives.
 */

import type { Report } from '../../../messages/mail/outbox.ts'
import { localTime } from '../../../platform/lib/clock.ts'
import { counted } from '../../../platform/lib/counted.ts'
import { visible } from '../../../platform/lib/visible.ts'
import type { Finding, Plan } from '../roster.ts'

export type FetchOutcome = 'imported' | 'unchanged' | 'overdue' | 'held' | 'refused' | 'busy' | 'failed'

interface About {
  readonly place: string
  readonly at: number
  readonly timeZone: string
  readonly command: string
}

interface Tried {
  readonly outcome: FetchOutcome
  readonly message: string
  readonly plan: Plan | null
}

const lineCharactersMax = 300
const findingsOfOneKindMax = 3
const findingsMax = 30
const skippableMax = 100

const verdicts: Record<FetchOutcome, { subject: string; says: string }> = {
  imported: { subject: 'The roster was imported', says: 'The new roster is now current.' },
  unchanged: { subject: 'The roster has not changed', says: 'There was nothing to do.' },
  overdue: {
    subject: 'No newer roster has come: please check the export',
    says: 'The roster at the source has not been renewed for too long. Until a newer file comes, students who have joined cannot sign in, and those who have left still can.',
  },
  held: {
    subject: 'The roster is held: please check it',
    says: 'Nothing was imported: the file would change more than usual, so somebody must confirm it. Until then the roster stays unchanged.',
  },
  refused: {
    subject: 'The roster has errors and was not imported',
    says: 'Nothing was imported: the file has errors. Until they are fixed the roster stays unchanged.',
  },
  busy: {
    subject: 'The roster was not imported: another import was running',
    says: 'Nothing was imported, because another import was running or finished first.',
  },
  failed: {
    subject: 'The roster could not be fetched',
    says: 'Nothing was imported. The roster stays unchanged.',
  },
}

export function reportOf(tried: Tried, about: About): Report {
  const { subject, says } = verdicts[tried.outcome]
  const { place, at, timeZone } = about
  return {
    subject,
    paragraphs: [
      `${says} Chiron looked for a roster at ${line(place)} on ${localTime(at, timeZone)}.`,
      ...(isToldByDetails(tried) ? [] : [`What happened: ${line(tried.message)}.`]),
      ...detailsOf(tried, about),
    ],
  }
}

const isToldByDetails = ({ outcome }: Tried) => outcome === 'held' || outcome === 'refused'

/** Also what the command prints, because that ends up in a log. */
export function detailsOf({ outcome, plan }: Tried, { command }: Pick<About, 'command'>): string[] {
  const holds = outcome === 'held' ? plan!.holds : []
  return [
    ...(plan ? [`The file: ${fileText(plan)}`] : []),
    ...(plan && outcome !== 'refused' ? [countLines(plan).join('\n')] : []),
    ...(holds.length > 0 ? [holds.map(({ code, reason }) => line(`${code}: ${reason}.`)).join('\n')] : []),
    ...(plan ? findingParagraphs(plan.findings) : []),
    ...nextSteps(outcome, plan, command),
  ]
}

function fileText({ file }: Plan): string {
  const modes = [...new Set(Object.values(file.modes))].join(' and ')
  const about =
    modes === '' ? 'no roster' : `OneRoster ${file.version}, ${modes}, ${counted(file.rows, 'row', 'rows')}`
  return line(`${file.name}, ${about}, sha256 ${file.sha256.slice(0, 12)}…`)
}

function countLines({ counts }: Plan): string[] {
  const titles = { student: 'Students', class: 'Classes', enrolment: 'Enrolments' } as const
  return (['student', 'class', 'enrolment'] as const).map((kind) => {
    const { before, added, changed, leaving, returning, after } = counts[kind]
    return `${titles[kind]}: ${before} before, ${added} new, ${changed} changed, ${leaving} leaving, ${returning} returning, ${after} after`
  })
}

function findingParagraphs(findings: readonly Finding[]): string[] {
  return (['error', 'warning'] as const).flatMap((severity) => {
    const some = findings.filter((finding) => finding.severity === severity)
    if (some.length === 0) return []
    const kinds = Map.groupBy(some, ({ code, file, column }) => `${code} ${file} ${column}`)
    const shown = [...kinds.values()]
      .flatMap((kind) => kind.slice(0, findingsOfOneKindMax))
      .slice(0, findingsMax)
    const more = some.length - shown.length
    const heading = `${counted(some.length, severity, `${severity}s`)}:`
    return [[heading, ...shown.map(findingLine), ...(more > 0 ? [`… and ${more} more`] : [])].join('\n')]
  })
}

function findingLine({ file, line: number, column, value, message }: Finding): string {
  const place = [file, number !== null && `line ${number}`, column].filter(Boolean).join(', ')
  return line(`${place}${value === null ? '' : `: "${value}"`}: ${message}`)
}

function nextSteps(outcome: FetchOutcome, plan: Plan | null, command: string): string[] {
  if (outcome === 'held') {
    const codes = [...new Set(plan!.holds.map(({ code }) => code))]
    const allowed = codes.filter((code) => code !== 'mode')
    const allow = allowed.length > 0 ? ` --allow ${allowed.join(',')}` : ''
    const ways = codes.includes('mode') ? [' --bulk', ' --delta'] : ['']
    return [
      `To see who would leave or change, the operator can run this (it imports nothing while the roster is held):\n${command} --verbose`,
      `If all of this is intended:\n${ways.map((way) => `${command}${way}${allow}`).join('\nor\n')}`,
      'If not, export the file again. The next fetch takes the new one.',
    ]
  }
  if (outcome === 'refused') {
    const { badRows, failsAsAWhole } = plan!
    const maySkip = badRows > 0 && badRows <= skippableMax && !failsAsAWhole
    return [
      'Fix the errors in the school’s system and export the file again. The next fetch takes the new one. docs/roster.md explains each message.',
      `To see all of them:\n${command} --verbose`,
      ...(maySkip
        ? [
            `To skip the bad rows, leave their records unchanged and import the rest:\n${command} --skip-bad-rows ${badRows}`,
          ]
        : []),
    ]
  }
  if (outcome === 'overdue')
    return [
      'Make sure that the school’s system still exports the roster to this place. If no export is due, as in the holidays, ask the operator to raise CHIRON_ROSTER_MAX_AGE_DAYS.',
      `To look again once a newer file is there:\n${command}`,
    ]
  if (outcome === 'imported') return ['To undo this import:\nchiron roster undo']
  return outcome === 'unchanged' ? [] : [`To try again, once this is fixed or right away:\n${command}`]
}

/** One line of text that may come from a file: escaped, bounded, and without whole addresses. */
function line(text: string): string {
  const shown = visible(text).replace(/([^\s@"'<>(),;:])[^\s@"'<>(),;:]*(?=@[^\s@"'<>(),;:]+\.)/g, '$1…')
  return shown.length > lineCharactersMax ? `${shown.slice(0, lineCharactersMax)}…` : shown
}
