/**
 * Turns the rows of class lists into the content of a set. A row is a student, or a student in a class. Students are
 * identified by number, or else by address, so a renamed student keeps the account. The teachers, rooms and times that
 * different rows give for a class are merged. Every finding names the row of the list.
 */
import { parseAddress } from '../../../platform/lib/address.ts'
import { folded } from '../../../platform/lib/folded.ts'
import type { Meter } from '../bounds.ts'
import type { FindingLog } from '../findings.ts'
import { type Field, fieldNames, isDayFirst, isFamilyFirst, namesSeveral } from '../list-headers.ts'
import type { ClassKind } from '../records.ts'
import { Cells } from './cells.ts'
import { type DayOrder, type Days, meetingsFrom, orderOf, type TermDays } from './day-text.ts'
import { nameFrom, type PersonName, teacherNameFrom } from './person-name.ts'
import { idOf, type SetClass, type SetContent, slug } from './set.ts'
import { placeOf, type Row } from './sheets.ts'
import type { Table } from './tables.ts'

export interface ListOptions {
  readonly terms: TermDays
  /** null: inferred from the list. */
  readonly dayOrder: DayOrder | null
  readonly schoolName: string
}

/** What all that read lists share. */
export interface Reading {
  readonly options: ListOptions
  readonly content: SetContent
  readonly log: FindingLog
  readonly meter: Meter
}

interface Student {
  readonly row: RowReader
  number: string
  email: string
  year: string
  readonly name: PersonName
  readonly orgId: string
  /** By class, its first row. */
  readonly places: Map<string, { readonly row: RowReader; readonly days: Days }>
}

interface Teacher {
  readonly name: PersonName
  email: string
  readonly orgId: string
  readonly classes: Set<string>
}

interface ClassAndDays {
  readonly id: string
  readonly days: Days
}

const days = '2026-09-01..2027-01-31'
const names: readonly Field[] = ['name', 'firstName', 'lastName', 'secondLastName']
const studentFields: readonly Field[] = [...names, 'number', 'email', 'year']
const classFields = fieldNames.filter((field) => !studentFields.includes(field))

export function readClassLists(tables: readonly Table[], reading: Reading): void {
  const reader = new ClassListReader(reading)
  for (const table of tables) reader.read(table)
  reader.end()
}

class ClassListReader {
  readonly #reading: Reading
  readonly #byNumber = new Map<string, Student>()
  readonly #byAddress = new Map<string, Student>()
  readonly #students = new Set<Student>()
  readonly #teachers = new Map<string, Teacher>()
  /** By the cells that describe a class, within one table. */
  readonly #said = new Map<string, readonly ClassAndDays[]>()
  readonly #told = new Set<string>()

  constructor(reading: Reading) {
    this.#reading = reading
  }

  read(table: Table): void {
    this.#said.clear()
    const order = this.#orderIn(table)
    for (const row of table.rows) {
      const reader = new RowReader(table, row, this.#reading.log)
      if (reader.isBlank()) continue
      const student = this.#student(reader)
      const places = reader.isNobody() ? [] : this.#classes(reader, order)
      if (student && student.row !== reader && places.length === 0) tellRepeated(student.row, reader)
      for (const { id, days } of student ? places : []) {
        const first = student!.places.get(id)
        if (first) tellRepeated(first.row, reader)
        else student!.places.set(id, { row: reader, days })
      }
    }
  }

  #orderIn(table: Table): DayOrder | null {
    if (this.#reading.options.dayOrder !== null) return this.#reading.options.dayOrder
    const columns = [table.columns.at.get('start') ?? -1, table.columns.at.get('end') ?? -1]
    const texts = table.rows.flatMap(({ cells }) => columns.map((at) => cells[at] ?? ''))
    return orderOf(texts) ?? (isDayFirst(table.headers) ? 'day-first' : null)
  }

  #student(row: RowReader): Student | null {
    const name = row.studentName()
    const number = row.id('number')
    const email = row.email('email')
    const year = yearFrom(row)
    if (name === null || number === null || email === null) return null
    if (number === '' && email === '') {
      const message =
        'The row has neither a student number nor an e-mail address, so the student could not be recognised next time. Fill one in, or remove the row.'
      row.tell('error', 'missing-value', 'email', message)
      return null
    }
    const known = this.#knownAs(number, email, row)
    if (known === 'refused') return null
    if (known) return this.#agrees(known, { name, number, email, year }, row) ? known : null
    const orgId = this.#org(row)
    const student: Student = { row, number, email, year, name, orgId, places: new Map() }
    this.#students.add(student)
    this.#index(student)
    return student
  }

  #index(student: Student): void {
    if (student.number !== '') this.#byNumber.set(student.number, student)
    if (student.email !== '') this.#byAddress.set(student.email.toLowerCase(), student)
  }

  #knownAs(number: string, email: string, row: RowReader): Student | null | 'refused' {
    const byNumber = number === '' ? undefined : this.#byNumber.get(number)
    const byAddress = email === '' ? undefined : this.#byAddress.get(email.toLowerCase())
    const other = byAddress && byAddress !== byNumber && number !== '' && byAddress.number !== number
    if (!other || (byAddress.number === '' && !byNumber)) return byNumber ?? byAddress ?? null
    const whose = byAddress.number === '' ? 'another student' : `the student with number ${byAddress.number}`
    const message = `${capital(whose)} has the same address (${byAddress.row.where(row)}). Each student needs a different one to sign in.`
    row.tell('error', 'duplicate-address', 'email', message)
    return 'refused'
  }

  #agrees(
    known: Student,
    { name, number, email, year }: Pick<Student, 'name' | 'number' | 'email' | 'year'>,
    row: RowReader,
  ): boolean {
    const who = known.number === '' ? `address ${known.email}` : `number ${known.number}`
    if (folded(nameText(known.name)) !== folded(nameText(name))) {
      const message = `The ${who} belongs to ${nameText(known.name)} in ${known.row.where(row)} and to ${nameText(name)} here. Write the name the same way in both, or give each student their own number and address.`
      row.tell('error', 'differing-rows', row.has('name') ? 'name' : 'lastName', message)
      return false
    }
    if (email !== '' && known.email !== '' && email.toLowerCase() !== known.email.toLowerCase()) {
      const message = `The ${who} has the address ${known.email} in ${known.row.where(row)} and ${email} here. Use the right one in both.`
      row.tell('error', 'differing-rows', 'email', message)
      return false
    }
    known.number ||= number
    known.email ||= email
    known.year ||= year
    this.#index(known)
    return true
  }

  #org(row: RowReader): string {
    const name = row.text('school') || this.#reading.options.schoolName
    const id = row.text('school') === '' ? 'school' : idOf('school', slug(name))
    if (!this.#reading.content.orgs.has(id)) this.#reading.content.orgs.set(id, name)
    return id
  }

  /** Cached, because most rows repeat what an earlier row said about the class. */
  #classes(row: RowReader, order: DayOrder | null): readonly ClassAndDays[] {
    const said = row.joined(classFields)
    const known = this.#said.get(said)
    if (known) return known
    const code = row.id('code')
    if (code === null) return []
    const names = row.classNames()
    const read = names.map((name) => this.#class(name, names.length > 1 ? '' : code, row, order))
    if (!read.every((one) => one !== null)) return []
    this.#said.set(said, read)
    return read
  }

  /** null after reporting an error. */
  #class(course: string, code: string, row: RowReader, order: DayOrder | null): ClassAndDays | null {
    const group = row.text('group')
    const term = this.#term(row, order)
    if (term === null) return null
    const title = group === '' ? course : `${course} (${group})`
    const id = idOf('class', slug(code || course), slug(group), term.key)
    const known = this.#reading.content.classes.get(id)
    const one = known ?? this.#newClass(id, title, { code, course, row })
    one.termIds.add(term.id)
    if (row.text('room') !== '') one.rooms.add(row.text('room'))
    this.#addMeetings(one, row)
    this.#addTeachers(id, one, row)
    return { id, days: term.days }
  }

  #newClass(id: string, title: string, of: { code: string; course: string; row: RowReader }): SetClass {
    const { code, course, row } = of
    const courseId = idOf('course', slug(code || course))
    if (!this.#reading.content.courses.has(courseId))
      this.#reading.content.courses.set(courseId, { title: course, code })
    const kind = kindFrom(row.text('kind'))
    return this.#reading.content.addClass(id, { title, code, kind, courseId, orgId: this.#org(row) })
  }

  /** `key` is the part of a class's id that distinguishes terms. */
  #term(row: RowReader, order: DayOrder | null): { id: string; key: string; days: Days } | null {
    const name = row.text('term')
    const days = row.days('start', 'end', order) ?? this.#reading.options.terms.of(name, order)
    if (days === 'refused') return null
    if (days === null) return this.#noTerm(name, row)
    const range = `${days.start}-${days.end}`
    const key = this.#reading.options.terms.isName(name, order) ? slug(name) : range
    const id = idOf('term', key, ...(key === range ? [] : [days.start, days.end]))
    this.#reading.content.addTerm(id, key === range ? '' : name, days)
    return { id, key, days }
  }

  #noTerm(name: string, row: RowReader): null {
    if (this.#told.has(name)) return null
    this.#told.add(name)
    const [what, term] =
      name === '' ? ['The classes have', days] : [`The term "${name}" has`, `"${name}=${days}"`]
    const message = `${what} no dates. Give the first and the last day, in the console or with --term ${term}, or add columns for them ("Start date" and "End date").`
    row.tell('error', 'missing-term', name === '' ? 'class' : 'term', message)
    return null
  }

  #addMeetings(one: SetClass, row: RowReader): void {
    const times = row.text('startTime') === '' ? '' : `${row.text('startTime')}-${row.text('endTime')}`
    const written = [row.text('day'), row.text('meets') || times].filter(Boolean).join(' ')
    if (written === '' || (row.text('meets') === '' && times === '')) return
    const meets = meetingsFrom(written)
    if (meets !== null) for (const meeting of meets.split('; ')) one.meets.add(meeting)
    else if (!this.#told.has(`meets ${written}`)) {
      this.#told.add(`meets ${written}`)
      const column = row.has('meets') ? 'meets' : 'startTime'
      const message = `"${written}" is not understood, so the class has no times. Write them like Mon 09:00-10:30; Wed 14:00-15:00.`
      row.tell('warning', 'bad-meetings', column, message)
    }
  }

  #addTeachers(classId: string, one: SetClass, row: RowReader): void {
    const parted = [row.text('teacherLastName'), row.text('teacherFirstName')].filter(Boolean).join(', ')
    const named = row.parts('teacher', /[;/&]|\s(?:and|et)\s/)
    const names = named.length > 0 || parted === '' ? named : [parted]
    const emails = row.parts('teacherEmail', /[\s;,/&]/)
    const count = Math.max(names.length, emails.length)
    for (let i = 0; i < count; i++) {
      const address = emails[i] === undefined ? null : parseAddress(emails[i]!)
      if (typeof address === 'string') {
        const message =
          'This is not an e-mail address such as ana@school.example. Correct it, or leave the cell empty.'
        row.tell('error', 'bad-address', 'teacherEmail', message)
        continue
      }
      // Without a name, the address stands in.
      const name = teacherNameFrom(names[i] ?? emails[i]!.split('@')[0]!)
      const key = this.#teacherKey(name, address?.key)
      const known = this.#teachers.get(key) ?? { name, email: '', orgId: one.orgId, classes: new Set() }
      known.email ||= address?.email ?? ''
      known.classes.add(classId)
      this.#teachers.set(key, known)
    }
  }

  /** The name, unless another teacher of that name has a different address. */
  #teacherKey(name: PersonName, address: string | undefined): string {
    const key = folded(nameText(name))
    const email = this.#teachers.get(key)?.email.toLowerCase()
    return address !== undefined && email && email !== address ? address : key
  }

  /** Ids depend on numbers and addresses, which any row may add; so people are written last. */
  end(): void {
    const content = this.#reading.content
    for (const student of this.#students) {
      const { number, email, year, name, orgId, places } = student
      const id = idOf('student', number || email.toLowerCase())
      content.people.set(id, { role: 'student', enabled: true, ...name, number, email, year, orgId })
      for (const [classId, { days }] of places) {
        // A class with several date ranges: each student is enrolled for one of them.
        const own = content.classes.get(classId)!.termIds.size > 1 ? days : undefined
        content.enrol({ classId, personId: id, role: 'student' }, own)
      }
    }
    for (const { name, email, orgId, classes } of this.#teachers.values()) {
      const id = idOf('teacher', email.toLowerCase() || slug(nameText(name)))
      content.people.set(id, { role: 'teacher', enabled: true, ...name, number: '', email, year: '', orgId })
      for (const classId of classes) content.enrol({ classId, personId: id, role: 'teacher' })
    }
    if (content.orgs.size === 0) content.orgs.set('school', this.#reading.options.schoolName)
  }
}

function tellRepeated(first: RowReader, row: RowReader): void {
  if (!first.isSame(row)) return
  const column = row.has('class') ? 'class' : row.has('number') ? 'number' : 'email'
  const message = `The row repeats ${first.where(row)}. It counts once.`
  row.tell('warning', 'repeated-row', column, message)
}

const nameText = ({ given, family }: PersonName) => `${given} ${family}`.trim()
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

class RowReader extends Cells<Field> {
  readonly #table: Table

  constructor(table: Table, row: Row, log: FindingLog) {
    super({ place: placeOf(table), headers: table.headers, at: table.columns.at }, row, log)
    this.#table = table
  }

  /** Its place, relative to another row that may be in another file. */
  where(from: RowReader): string {
    return this.#table === from.#table ? `line ${this.line}` : `${this.place}, line ${this.line}`
  }

  isNobody(): boolean {
    return studentFields.every((field) => field === 'year' || this.isEmpty(field))
  }

  studentName(): PersonName | null {
    const first = this.name('firstName')
    const last = this.name('lastName')
    const second = this.name('secondLastName')
    const full = this.name('name')
    if (first === null || last === null || second === null || full === null) return null
    const family = [last, second].filter(Boolean).join(' ')
    if (first !== '' || family !== '') return { given: first, family }
    const at = this.#table.columns.at.get('name')
    if (full !== '') return nameFrom(full, isFamilyFirst(this.#table.headers[at!]!))
    const column = this.has('name') ? 'name' : this.has('lastName') ? 'lastName' : 'firstName'
    const message = this.isNobody()
      ? 'The row has no student. Write the name, number and address in every row (in merged cells, only the first has a value), or remove the row.'
      : 'The row has no name. Fill it in, or remove the row.'
    this.tell('error', 'missing-value', column, message)
    return null
  }

  /** Usually one. Without a title, the code stands in. */
  classNames(): string[] {
    const at = this.#table.columns.at.get('class')
    const several = at !== undefined && namesSeveral(this.#table.headers[at]!)
    const names = [...new Set(this.parts('class', several ? /[;|,]/ : /[;|]/))]
    return names.length > 0 || this.text('code') === '' ? names : [this.text('code')]
  }
}

const roman: Readonly<Record<string, string>> = { i: '1', ii: '2', iii: '3', iv: '4', v: '5', vi: '6' }

/** 3 for "3", "3rd year", "3ème année" and "III". */
function yearFrom(row: RowReader): string {
  const text = folded(row.text('year'))
  const year = /(?<!\d)\d{1,2}(?!\d)/.exec(text)?.[0]
  return year === undefined ? (roman[/\b[iv]+\b/.exec(text)?.[0] ?? ''] ?? '') : String(Number(year))
}

const kindStarts: readonly (readonly [kind: ClassKind, starts: RegExp])[] = [
  ['rotation', /^(rotat|rotac|stage|clinic|cliniq)/],
  ['practical', /^(practi|pratique|travaux pratiques|tp\b|lab)/],
  ['tutorial', /^(tutor|travaux diriges|td\b|seminar)/],
  ['homeroom', /^(homeroom|classe|tutela)/],
]

function kindFrom(text: string): ClassKind {
  return kindStarts.find(([, starts]) => starts.test(folded(text)))?.[0] ?? 'course'
}
