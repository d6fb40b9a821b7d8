/** Turns the rows of each OneRoster file into records. Looks at one row at a time. */

import type { ClassData, ClassKind, DataOf, Kind, UserData } from '../records.ts'
import type { Cells } from './cells.ts'
import { classKinds } from './columns.ts'
import { meetingsForm, parseMeetings } from './meetings.ts'
import { parseYear } from './values.ts'

/** Refused cells leave a gap here; such a row yields no record. */
export const readData: { readonly [K in Kind]: (cells: Cells) => DataOf[K] } = {
  org: (cells) => ({
    name: cells.text('name') ?? '',
    type: cells.enumeration('type', 'orgType') ?? '',
    parentId: cells.id('parentSourcedId'),
  }),

  term(cells) {
    const [startDate, endDate] = cells.days('startDate', 'endDate')
    return {
      title: cells.text('title') ?? '',
      type: cells.enumeration('type', 'sessionType') ?? '',
      startDate: startDate ?? '',
      endDate: endDate ?? '',
      parentId: cells.id('parentSourcedId'),
    }
  },

  course: (cells) => ({
    title: cells.text('title') ?? '',
    code: cells.code('courseCode'),
    orgId: cells.id('orgSourcedId'),
  }),

  class: (cells) => ({
    title: cells.text('title') ?? '',
    code: cells.code('classCode'),
    kind: classKind(cells),
    courseId: cells.id('courseSourcedId') ?? '',
    schoolId: cells.id('schoolSourcedId') ?? '',
    termIds: cells.ids('termSourcedIds'),
    location: cells.text('location'),
    periods: cells.texts('periods'),
    subjects: cells.texts('subjects'),
    ...meetings(cells),
  }),

  user: (cells) => ({
    enabled: cells.boolean('enabledUser', true),
    ...names(cells),
    pronouns: cells.text('pronouns'),
    number: cells.code('identifier'),
    email: cells.address('email'),
    year: parseYear(cells.grades('grades')),
    role: cells.version === '1.1' ? cells.enumeration('role', 'role') : null,
    orgIds: cells.version === '1.1' ? cells.ids('orgSourcedIds') : [],
  }),

  role(cells) {
    const [startDate, endDate] = cells.days('beginDate', 'endDate')
    return {
      userId: cells.id('userSourcedId') ?? '',
      role: cells.enumeration('role', 'role') ?? '',
      orgId: cells.id('orgSourcedId'),
      primary: cells.enumeration('roleType', 'roleType') === 'primary',
      ...(startDate !== null && { startDate }),
      ...(endDate !== null && { endDate }),
    }
  },

  enrolment(cells) {
    const [startDate, endDate] = cells.days('beginDate', 'endDate')
    return {
      userId: cells.id('userSourcedId') ?? '',
      classId: cells.id('classSourcedId') ?? '',
      schoolId: cells.id('schoolSourcedId'),
      role: cells.enumeration('role', 'role') ?? '',
      primary: cells.boolean('primary', false),
      startDate,
      endDate,
    }
  },
}

function names(cells: Cells): Pick<UserData, 'firstname' | 'lastname' | 'preferredName'> {
  const firstname = cells.personName('givenName') ?? ''
  const lastname = cells.personName('familyName') ?? ''
  if (cells.raw('givenName') === '' || cells.raw('familyName') === '') checkOneName(cells)
  const given = cells.personName('preferredGivenName')
  const family = cells.personName('preferredFamilyName')
  if (given === null && family === null) return { firstname, lastname, preferredName: null }
  const preferredName = family === null ? given : `${given ?? firstname} ${family}`
  return { firstname, lastname, preferredName }
}

/** A bad cell costs a class its times, not the school its roster. */
function meetings(cells: Cells): Pick<ClassData, 'meetings'> {
  const text = cells.raw('metadata.meets')
  if (text === '') return {}
  const parsed = parseMeetings(text)
  if (parsed === null)
    cells.tell('warning', 'bad-meetings', 'metadata.meets', `${meetingsForm} The cell was ignored.`)
  return parsed === null || parsed.length === 0 ? {} : { meetings: parsed }
}

function checkOneName(cells: Cells): void {
  const column = cells.raw('familyName') === '' ? 'familyName' : 'givenName'
  if (cells.raw('givenName') === '' && cells.raw('familyName') === '')
    cells.tell('error', 'missing-value', column, 'A person needs at least one name.')
  else if (`${cells.raw('givenName')}${cells.raw('familyName')}`.includes(','))
    cells.tell('warning', 'one-name', column, bothNames)
  else cells.tell('warning', 'one-name', column, 'This person has only one name, which is accepted.')
}

const bothNames =
  'The cell beside this one seems to have both names, with a comma. It was accepted as one; better give each name its own column.'

const kindNames = new Set<string>(Object.values(classKinds))

/** `metadata.kind` wins: 1.1 has no ext: values and uses it instead. */
function classKind(cells: Cells): ClassKind {
  const type = cells.enumeration('classType', 'classType')
  const named = cells.raw('metadata.kind').toLowerCase().replace(/^ext:/, '')
  if (kindNames.has(named)) return named as ClassKind
  if (named === 'scheduled') return 'course'
  if (named !== '') {
    const message = `Expected one of ${[...kindNames].join(', ')}, or nothing.`
    cells.tell('error', 'bad-class-kind', 'metadata.kind', message)
    return 'course'
  }
  if (type === null) return 'course'
  const kind = Object.hasOwn(classKinds, type.toLowerCase()) ? classKinds[type.toLowerCase()] : undefined
  if (kind !== undefined) return kind
  const message = `Chiron knows ${Object.keys(classKinds).join(', ')}. The class counts as a course.`
  cells.tell('warning', 'unknown-class-kind', 'classType', message)
  return 'course'
}
