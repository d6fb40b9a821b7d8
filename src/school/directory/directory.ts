/**
 * What services read of the roster: students, classes and enrolments, in pages. The order is that of ids which never
 * change, so that nobody is skipped or repeated when an import is published between two pages. `updatedSince` lists what
 * has become different since then, also by an undo; students who left are among it, so that copies can follow.
 */
import { invalidField } from '../../errors.ts'
import type { Context } from '../../platform/context.ts'
import type { Db } from '../../platform/db/db.ts'
import { timestamp } from '../../platform/lib/clock.ts'
import { seal, unseal } from '../../platform/lib/seal.ts'
import type { Secrets } from '../../platform/lib/secret.ts'
import { publicId } from '../roster/roster.ts'
import { readDocument } from '../student/student.ts'
import * as store from './store.ts'

export interface PageRequest {
  /** The `next` value of the previous page. */
  readonly after: string | undefined
  readonly limit: number
  /** Epoch milliseconds. */
  readonly updatedSince: number | undefined
}

export interface Page<Entry> {
  readonly entries: Entry[]
  readonly next: string | null
  readonly generation: number
}

export class Directory {
  readonly #db: Db
  readonly #secrets: Secrets

  constructor({ db, secrets }: Pick<Context, 'db' | 'secrets'>) {
    this.#db = db
    this.#secrets = secrets
  }

  students(request: PageRequest) {
    return this.#page('students', request, studentView, async (place, since) =>
      since === undefined
        ? store.studentsInOrder(this.#db, place)
        : store.studentsChanged(this.#db, place, (await store.publishedSince(this.#db, since)).peopleFrom),
    )
  }

  classes(request: PageRequest) {
    return this.#page('classes', request, classView, async (place, since) => {
      const generation = await this.#seenAt(since)
      return generation === 0
        ? store.classesInOrder(this.#db, place)
        : store.classesChanged(this.#db, place, generation)
    })
  }

  enrolments(request: PageRequest) {
    return this.#page('enrolments', request, enrolmentView, async (place, since) => {
      const generation = await this.#seenAt(since)
      return generation === 0
        ? store.enrolmentsInOrder(this.#db, place)
        : store.enrolmentsChanged(this.#db, place, generation)
    })
  }

  /** 0 if everything is wanted. */
  async #seenAt(since: number | undefined): Promise<number> {
    return since === undefined ? 0 : (await store.publishedSince(this.#db, since)).generation
  }

  /** The place is sealed: ids of the school's files may be made of addresses, and a URL is logged in many places. */
  async #page<Row extends { readonly id: string }, Entry>(
    list: string,
    { after, limit, updatedSince }: PageRequest,
    view: (row: Row) => Entry,
    read: (place: store.Place, since: number | undefined) => Promise<store.Read<Row>>,
  ): Promise<Page<Entry>> {
    const owner = `directory.${list}`
    const start = after === undefined ? '' : unseal(this.#secrets, owner, after)?.text
    if (start === undefined)
      throw invalidField({ parameter: 'after', detail: 'must be the `next` value of a page of this list' })
    const { generation, rows } = await read({ after: start, limit: limit + 1 }, updatedSince)
    const shown = rows.slice(0, limit)
    const next = rows.length > limit ? seal(this.#secrets, owner, shown.at(-1)!.id) : null
    return { entries: shown.map(view), next, generation }
  }
}

/** Somebody who left the roster is not shown to anybody. */
function studentView(row: store.StudentRow) {
  const { school_id: schoolId, school_name: name } = row
  return {
    userId: row.id,
    number: row.student_number,
    firstname: row.firstname,
    lastname: row.lastname,
    preferredName: row.preferred_name,
    email: row.email,
    year: row.year,
    school: schoolId === null ? null : { schoolId, name: name ?? '' },
    status: row.status,
    updatedAt: timestamp(row.updated_at),
  }
}

function classView({ document, updated_at }: store.ClassRow) {
  const { classId, title, code, kind, terms, teachers, meetings, updatedAt } = readDocument(
    document,
    updated_at,
  )
  return { classId, title, code, kind, terms, teachers, meetings, updatedAt }
}

function enrolmentView(row: store.EnrolmentRow) {
  return {
    classId: publicId('class', row.class_id),
    userId: row.person_id,
    startDate: row.start_date,
    endDate: row.end_date,
    updatedAt: timestamp(row.updated_at),
  }
}
