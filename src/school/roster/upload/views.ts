/** Plans and imports as staff see them. */
import { timestamp } from '../../../platform/lib/clock.ts'
import type { Finding, HistoryRow, Roster } from '../roster.ts'
import type { Group, PlanFailure, planStates } from '../words.ts'
import type { PlanOptions } from './jobs.ts'
import { noSummary, type PlanSummary } from './planned.ts'
import type { PendingRow, PlanRow } from './store.ts'

export const summaryOf = ({ summary }: Pick<PlanRow, 'summary'>): PlanSummary =>
  summary === null ? noSummary : JSON.parse(summary)

/** What the list of plans and a plan itself say alike. */
function headOf(row: Omit<PlanRow, 'findings' | 'list'>) {
  const { findings } = summaryOf(row)
  const isBusy = row.state === 'planning' || row.state === 'applying'
  return {
    planId: row.id,
    state: row.state as (typeof planStates)[number],
    failure: row.failure as PlanFailure | null,
    createdAt: timestamp(row.created_at),
    createdBy: row.person_id,
    expiresAt: timestamp(row.expires_at),
    fileName: row.file_name,
    ...findings,
    progress: isBusy ? { done: row.done ?? 0, total: row.total } : null,
  }
}

export function pendingOf(row: PendingRow) {
  const { counts, holds } = summaryOf(row)
  return {
    ...headOf(row),
    createdByName: row.person_name?.trim() || null,
    students: studentsIn(counts.student),
    holds: [...new Set(holds.map(({ code }) => code))],
  }
}

export function viewOf(row: PlanRow) {
  const { file, counts, holds, badRows, skipsBadRows, groups } = summaryOf(row)
  const options: PlanOptions = JSON.parse(row.options)
  const findings: Finding[] = JSON.parse(row.findings ?? '[]')
  return {
    ...headOf(row),
    ...file,
    sha256: row.sha256,
    options: {
      mode: options.mode ?? null,
      match: options.match ?? null,
      skipBadRows: options.skipBadRowsMax ?? 0,
      map: Object.entries(options.map ?? {}).map(([field, header]) => `${field}=${header}`),
      term: options.terms ?? [],
      dates: options.dates ?? null,
    },
    list: row.list === null ? null : JSON.parse(row.list),
    roster: row.generation,
    ...{ counts, holds, badRows, skipsBadRows, findings },
    groups: groups.map(listed),
    generation: row.imported_as,
  }
}

export function importOf(
  row: HistoryRow,
  standing: Awaited<ReturnType<Roster['standing']>>,
  told: ReadonlySet<number>,
) {
  return {
    generation: row.id,
    kind: row.kind,
    publishedAt: timestamp(row.published_at!),
    actor: row.actor,
    actorName: row.actor_name?.trim() || null,
    fileName: row.kind === 'correction' ? null : row.file_name,
    sha256: row.kind === 'import' ? row.sha256 : null,
    rows: row.kind === 'import' ? row.rows : null,
    allowed: row.allowed === '' ? [] : row.allowed.split(','),
    /** Of an undo: the roster that it went back to. */
    content: row.content,
    students: studentsOf(row),
    current: row.id === standing.generation,
    canGoBack: standing.reachable.includes(row.content),
    changesKept: told.has(row.id),
  }
}

function studentsOf({ kind, summary }: HistoryRow) {
  if (kind === 'correction') return studentsIn({ changed: 1 })
  const counts = JSON.parse(summary)
  return studentsIn(kind === 'import' ? counts.student : counts)
}

type Counts = Partial<Record<'added' | 'changed' | 'leaving' | 'returning', number>>

const studentsIn = ({ added = 0, changed = 0, leaving = 0, returning = 0 }: Counts = {}) => ({
  added,
  changed,
  leaving,
  returning,
})

/** Every change is listed. */
export const listed = ({ group, count }: { group: Group; count: number }) => ({ group, count, kept: count })
