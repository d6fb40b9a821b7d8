import { Id, Nullable, QueryInteger, QueryTime, Timestamp, Titled } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { CalendarDate, PlainClass, School, StudentStatus } from '../student/schemas.ts'

export const limits = { min: 1, max: 1_000 }

export const PageQuery = Type.Object({
  after: Type.Optional(Type.String({ description: 'The `next` value of the previous page.' })),
  limit: QueryInteger(limits, 'Maximum number of rows; default 100.'),
  updatedSince: QueryTime(
    'Only what has changed at or after this time. Give the time at which your last read began, less a minute.',
  ),
})

const pageFields = {
  next: Nullable(Type.String({ description: 'Give it as `after` for the next page; null at the end.' })),
  generation: Type.Integer({
    description:
      'Changes with every import, undo and correction. If it differs between two pages, the roster has changed in between.',
  }),
}

const DirectoryStudent = Type.Object(
  {
    userId: Id('The student’s id, for good.'),
    number: Nullable(Type.String()),
    firstname: Nullable(Type.String()),
    lastname: Nullable(Type.String()),
    preferredName: Nullable(Type.String()),
    email: Nullable(Type.String()),
    year: Nullable(Type.Integer()),
    school: Nullable(School),
    status: StudentStatus,
    updatedAt: Timestamp(),
  },
  {
    title: 'DirectoryStudent',
    description:
      'Whoever is not on the roster, or is disabled there, has only `userId`, `status` and `updatedAt`; the rest is null.',
  },
)

const { classId, title, code, kind, terms, teachers, meetings, updatedAt } = PlainClass.properties
const DirectoryClass = Titled('DirectoryClass', {
  classId,
  title,
  code,
  kind,
  terms,
  teachers,
  meetings,
  updatedAt,
})

const DirectoryEnrolment = Titled('DirectoryEnrolment', {
  classId,
  userId: Id('The student’s id.'),
  startDate: Nullable(CalendarDate),
  endDate: Nullable(CalendarDate),
  updatedAt: Timestamp(),
})

export const StudentPage = Titled('DirectoryStudentPage', {
  students: Type.Array(DirectoryStudent),
  ...pageFields,
})
export const ClassPage = Titled('DirectoryClassPage', { classes: Type.Array(DirectoryClass), ...pageFields })
export const EnrolmentPage = Titled('DirectoryEnrolmentPage', {
  enrolments: Type.Array(DirectoryEnrolment),
  ...pageFields,
})
