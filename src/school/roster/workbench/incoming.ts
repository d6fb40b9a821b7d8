/** The rows of a file, as they are read. */
import type { RowWriter, WorkFile } from '../../../platform/db/work-file.ts'
import {
  type BadRow,
  type DataOf,
  type EnrolmentData,
  type Kind,
  kinds,
  type Repeat,
  type RosterRecord,
  type RosterSink,
} from '../records.ts'
import { rowIndexes } from './tables.ts'

/** What is known of a file's rows of one kind. */
interface Rows {
  /** As the archive calls it. */
  file: string
  /** Whether it has rows at all, bad ones among them. */
  isEmpty: boolean
  /** Some rows were unreadable, so any sourcedId may be theirs. */
  isPartlyUnread: boolean
}

export class Incoming implements RosterSink {
  badRows = 0
  readonly of: Readonly<Record<Kind, Rows>>
  readonly #file: WorkFile
  readonly #writers: Readonly<Record<Kind, RowWriter>>
  readonly #onProgress: (rows: number) => void
  readonly #rests = new Map<string, number>()
  #n = 0

  constructor(file: WorkFile, onProgress: (rows: number) => void = () => {}) {
    this.#file = file
    this.#onProgress = onProgress
    const each = <T>(make: (kind: Kind) => T) =>
      Object.fromEntries(kinds.map((kind) => [kind, make(kind)])) as Record<Kind, T>
    this.of = each(() => ({ file: '', isEmpty: true, isPartlyUnread: false }))
    const columns = { enrolment: 6, role: 5 } as Partial<Record<Kind, number>>
    this.#writers = each((kind) => file.rows(`row_${kind}`, columns[kind] ?? 4))
  }

  record({ kind, sourcedId, data, file, line }: RosterRecord): void {
    const of = this.of[kind]
    of.file = file
    of.isEmpty = false
    const writer = this.#writers[kind]
    const n = ++this.#n
    if (kind === 'enrolment') {
      const { userId = null, classId = null } = (data ?? {}) as Partial<EnrolmentData>
      writer.add(n, sourcedId, line, userId, classId, data && this.#restOf(data as EnrolmentData))
    } else if (kind === 'role')
      writer.add(n, sourcedId, line, data && JSON.stringify(data), (data as DataOf['role'])?.userId ?? null)
    else writer.add(n, sourcedId, line, data && JSON.stringify(data))
  }

  bad({ kind, sourcedId, line }: BadRow): void {
    this.badRows++
    this.of[kind].isEmpty = false
    if (sourcedId === null) this.of[kind].isPartlyUnread = true
    else this.#file.run('insert or ignore into bad values (?, ?)', kind, sourcedId)
    if (sourcedId !== null && line !== null)
      this.#file.run('insert into failed values (?, ?, ?, ?)', kind, ++this.#n, sourcedId, line)
  }

  unread(kind: Kind): void {
    this.of[kind].isEmpty = false
    this.of[kind].isPartlyUnread = true
  }

  progress(rows: number): void {
    this.#onProgress(rows)
  }

  /** Yields the rows whose sourcedId an earlier row has, and leaves them and all bad rows out. */
  *finish(kind: Kind): Generator<Repeat> {
    this.#writers[kind].flush()
    this.#file.exec(rowIndexes(kind))
    const file = this.#file
    const hasFailed = file.one('select 1 as one from failed where kind = ? limit 1', kind) !== undefined
    const isSame =
      kind === 'enrolment'
        ? 'r.user_id is f.user_id and r.class_id is f.class_id and r.rest is f.rest'
        : 'r.data is f.data'
    const ids = hasFailed
      ? `(select id, n from row_${kind} union all select id, n from failed where kind = '${kind}')`
      : `row_${kind}`
    const again = `select id, min(n) as n from ${ids} group by id having count(*) > 1`
    const found = file.each<{ id: string; line: number; first: number; same: number }>(
      `select r.id, r.line, coalesce(f.line, x.line) as first, f.n is not null and ${isSame} as same
       from (${again}) a join row_${kind} r on r.id = a.id and r.n > a.n
         left join row_${kind} f on f.n = a.n left join failed x on x.n = a.n order by r.n`,
    )
    let isRepeated = false
    for (const { id, line, first, same } of found) {
      isRepeated = true
      yield { kind, sourcedId: id, line, first, isSame: same === 1 && !this.isBad(kind, id) }
    }
    if (isRepeated)
      file.run(
        `delete from row_${kind} where n in (select r.n from (${again}) a join row_${kind} r on r.id = a.id and r.n > a.n)`,
      )
    this.#leaveOutBad(kind)
  }

  /** These rows have turned out to be bad. */
  leaveOut(rows: Iterable<{ readonly kind: Kind; readonly sourcedId: string }>): void {
    for (const { kind, sourcedId } of rows) this.bad({ kind, sourcedId, line: null })
    for (const kind of kinds) this.#leaveOutBad(kind)
  }

  isBad(kind: Kind, id: string): boolean {
    return this.#file.one('select 1 as one from bad where kind = ? and id = ?', kind, id) !== undefined
  }

  hasBad(kind: Kind): boolean {
    return this.#file.one('select 1 as one from bad where kind = ? limit 1', kind) !== undefined
  }

  /** Every sourcedId of the file, also of records that go. */
  *named(kind: Kind): Generator<string> {
    for (const { id } of this.#file.each<{ id: string }>(`select id from row_${kind} order by n`)) yield id
  }

  /** The data that the file has of this record; null if it goes. */
  find<K extends Exclude<Kind, 'enrolment'>>(kind: K, id: string): DataOf[K] | null | undefined {
    const row = this.#file.one<{ data: string | null }>(`select data from row_${kind} where id = ?`, id)
    return row && (row.data === null ? null : JSON.parse(row.data))
  }

  #leaveOutBad(kind: Kind): void {
    if (this.hasBad(kind))
      this.#file.run(`delete from row_${kind} where id in (select id from bad where kind = ?)`, kind)
  }

  #restOf({ schoolId, role, primary, startDate, endDate }: EnrolmentData): number {
    const key = `${schoolId}\0${role}\0${primary}\0${startDate}\0${endDate}`
    let n = this.#rests.get(key)
    if (n === undefined) {
      n = this.#rests.size + 1
      this.#rests.set(key, n)
      const values = [n, schoolId, role, Number(primary), startDate, endDate]
      this.#file.run('insert into rest values (?, ?, ?, ?, ?, ?)', ...values)
    }
    return n
  }
}
