/** The history: each import, undo and correction is a generation. */
import { type Db, insertion, type Statement, statement } from '../../../platform/db/db.ts'

export interface GenerationRow {
  readonly id: number
  readonly kind: 'import' | 'undo' | 'correction'
  readonly parent: number
  readonly content: number
  readonly file_name: string
  readonly sha256: string
  readonly version: string
  readonly rows: number
  readonly summary: string
  readonly started_at: number
  readonly published_at: number | null
  /** Null in generations of older versions. */
  readonly actor: string | null
  /** The allowed holds, comma-separated. */
  readonly allowed: string
  readonly newest_row_at: number | null
}

export interface HistoryRow extends GenerationRow {
  /** Of the member of staff who did it; null for the command line. */
  readonly actor_name: string | null
}

const columns =
  'id, kind, parent, content, file_name, sha256, version, rows, summary, started_at, published_at, actor, allowed, newest_row_at'

export function publishedGenerations(db: Db, limit: number): Promise<HistoryRow[]> {
  return db.all<HistoryRow>(
    `select ${columns.replaceAll(/\w+/g, 'g.$&')}, p.firstname || ' ' || p.lastname as actor_name
     from roster_generation g left join person p on p.id = g.actor
     where g.published_at is not null order by g.id desc limit $1`,
    [limit],
  )
}

/** The generations that have led to this one, newest first. */
export async function lineageOf(db: Db, content: number): Promise<GenerationRow[]> {
  const published = await db.all<GenerationRow>(
    `select ${columns} from roster_generation where published_at is not null and id <= $1`,
    [content],
  )
  const known = new Map(published.map((row) => [row.id, row]))
  const lineage: GenerationRow[] = []
  for (let at = known.get(content); at; at = known.get(at.parent)) lineage.push(at)
  return lineage
}

export function generationById(db: Db, id: number): Promise<GenerationRow | undefined> {
  return db.one<GenerationRow>(`select ${columns} from roster_generation where id = $1`, [id])
}

export type NewGeneration = Omit<GenerationRow, 'parent' | 'published_at'>

export function addGeneration(g: NewGeneration, parent: number): Statement[] {
  return [
    statement('update roster_state set last_generation = $1', g.id),
    insertion('roster_generation', {
      ...{ id: g.id, kind: g.kind, parent, content: g.content },
      ...{ file_name: g.file_name, sha256: g.sha256, version: g.version, rows: g.rows },
      ...{ summary: g.summary, started_at: g.started_at, actor: g.actor, allowed: g.allowed },
      newest_row_at: g.newest_row_at,
    }),
  ]
}

/** A generation that is to be the roster from now on. */
export interface Publication {
  readonly generation: number
  /** The generation whose rows are visible then: its own, or those that an undo goes back to. */
  readonly content: number
  readonly redo: number | null
}

/** Readers see the old roster before this transaction and the new one after it. */
export function publish({ generation, content, redo }: Publication, now: number): Statement[] {
  return [
    statement(
      'update roster_state set content = $1, generation = $2, redo = cast($3 as bigint)',
      content,
      generation,
      redo,
    ),
    statement('update roster_generation set published_at = $1 where id = $2', now, generation),
  ]
}
