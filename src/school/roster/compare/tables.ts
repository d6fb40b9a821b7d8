/** The rows of one kind, from a file or the current roster, stored compactly. Rows are numbered from 0. */
import { Ids, Numbers, Texts } from '../compact.ts'
import type { EnrolmentData } from '../records.ts'

export interface Table<D> {
  readonly ids: Ids
  /** `row` is the number of an id. */
  set(row: number, data: D): void
  dataAt(row: number): D
}

/** The values as JSON. Their names would be half of it, and are the same in nearly all rows. */
export class RecordTable<D extends object> implements Table<D> {
  readonly ids = new Ids()
  readonly #values = new Texts()
  readonly #valuesOf = new Numbers()
  readonly #shapeOf = new Numbers()
  readonly #shapes: string[][] = []

  set(row: number, data: D): void {
    this.#valuesOf.set(row, this.#values.add(JSON.stringify(Object.values(data))))
    this.#shapeOf.set(row, this.#shape(Object.keys(data)))
  }

  dataAt(row: number): D {
    const values: unknown[] = JSON.parse(this.#values.at(this.#valuesOf.at(row)))
    const data: Record<string, unknown> = {}
    for (const [i, name] of this.#shapes[this.#shapeOf.at(row)]!.entries()) data[name] = values[i]
    return data as D
  }

  #shape(names: string[]): number {
    const known = this.#shapes.findIndex(
      (shape) => shape.length === names.length && shape.every((name, i) => name === names[i]),
    )
    return known >= 0 ? known : this.#shapes.push(names) - 1
  }
}

/** Everything in an enrolment except person and class: there are few distinct values. */
export type Rest = Omit<EnrolmentData, 'userId' | 'classId'>

/** The people, classes and rests of all tables of enrolments of one comparison, so that rows compare by number. */
export class Parts {
  /** The sourcedIds of people and classes. */
  readonly names = new Ids()
  readonly #rests: Rest[] = []
  readonly #numbers = new Map<string, number>()

  rest(data: Rest): number {
    const { schoolId, role, primary, startDate, endDate } = data
    const key = `${schoolId}\0${role}\0${primary}\0${startDate}\0${endDate}`
    let number = this.#numbers.get(key)
    if (number === undefined) {
      number = this.#rests.push({ schoolId, role, primary, startDate, endDate }) - 1
      this.#numbers.set(key, number)
    }
    return number
  }

  restAt(number: number): Rest {
    return this.#rests[number]!
  }
}

export class EnrolmentTable implements Table<EnrolmentData> {
  readonly ids = new Ids()
  readonly parts: Parts
  readonly #users = new Numbers()
  readonly #classes = new Numbers()
  readonly #rests = new Numbers()

  constructor(parts: Parts) {
    this.parts = parts
  }

  set(row: number, data: EnrolmentData): void {
    this.#users.set(row, this.parts.names.add(data.userId))
    this.#classes.set(row, this.parts.names.add(data.classId))
    this.#rests.set(row, this.parts.rest(data))
  }

  isSame(row: number, data: EnrolmentData): boolean {
    const { schoolId, role, primary, startDate, endDate } = this.restAt(row)
    return (
      this.parts.names.isAt(this.userAt(row), data.userId) &&
      this.parts.names.isAt(this.classAt(row), data.classId) &&
      schoolId === data.schoolId &&
      role === data.role &&
      primary === data.primary &&
      startDate === data.startDate &&
      endDate === data.endDate
    )
  }

  /** A number of `parts.names`, as `classAt`. */
  userAt(row: number): number {
    return this.#users.at(row)
  }

  classAt(row: number): number {
    return this.#classes.at(row)
  }

  restAt(row: number): Rest {
    return this.parts.restAt(this.#rests.at(row))
  }

  dataAt(row: number): EnrolmentData {
    const { names } = this.parts
    return { userId: names.at(this.userAt(row)), classId: names.at(this.classAt(row)), ...this.restAt(row) }
  }
}
