import { ConsentFields } from '../../identity/clients/consent-schemas.ts'
import { PasskeyFields } from '../../identity/passkeys/schemas.ts'
import { statuses } from '../../identity/people/statuses.ts'
import { SchoolLinkFields } from '../../identity/school-account/schemas.ts'
import { HistoryFields } from '../../identity/session/schemas.ts'
import { Id, Nullable, Timestamp, Titled } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { readableWith } from '../../platform/lib/readable.ts'
import { weekdays } from './classes.ts'

/** Which classes, by date; current ones if it is left out. */
export const WhenQuery = Type.Object({
  when: Type.Optional(Type.Enum(['current', 'upcoming', 'past', 'all'], { title: 'When' })),
})

export const School = Titled('School', { schoolId: Type.String(), name: Type.String() })
export const StudentStatus = Type.Enum(statuses.student, { title: 'StudentStatus' })
export const CalendarDate = Type.String({ format: 'date', examples: ['2026-09-01'] })
const ClassKind = Type.Enum(['course', 'homeroom', 'rotation', 'practical', 'tutorial'], {
  title: 'ClassKind',
})

const TimeOfDay = Type.String({
  pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
  description: 'In the school’s time zone.',
  examples: ['09:00'],
})
const Weekday = Type.Enum([...weekdays], { title: 'Weekday' })
const Meeting = Titled('Meeting', { day: Weekday, start: TimeOfDay, end: TimeOfDay })

const StudentGroup = Titled('StudentGroup', { classId: Type.String(), title: Type.String(), kind: ClassKind })
const Course = Titled('Course', {
  courseId: Type.String(),
  code: Nullable(Type.String()),
  title: Type.String(),
})
const Term = Titled('Term', {
  termId: Type.String(),
  title: Type.String(),
  startDate: CalendarDate,
  endDate: CalendarDate,
})
const Teacher = Titled('Teacher', {
  firstname: Type.String(),
  lastname: Type.String(),
  email: Nullable(Type.String()),
  primary: Type.Boolean(),
})
const Enrolment = Titled('Enrolment', { startDate: Nullable(CalendarDate), endDate: Nullable(CalendarDate) })
const TaughtStudent = Titled('TaughtStudent', {
  firstname: Type.String(),
  lastname: Type.String(),
  preferredName: Nullable(Type.String()),
  pronouns: Nullable(Type.String()),
  email: Nullable(Type.String()),
  startDate: Nullable(CalendarDate),
  endDate: Nullable(CalendarDate),
})

export const StudentProfile = Titled('StudentProfile', {
  userId: Id('The student’s id.'),
  studentNumber: Nullable(Type.String()),
  firstname: Type.String(),
  lastname: Type.String(),
  preferredName: Nullable(Type.String()),
  pronouns: Nullable(Type.String()),
  email: Type.String(),
  status: StudentStatus,
  year: Nullable(Type.Integer()),
  school: Nullable(School),
  groups: Type.Array(StudentGroup),
  updatedAt: Timestamp(),
})

export const ClassEntry = Titled('Class', {
  classId: Type.String(),
  code: Nullable(Type.String()),
  title: Type.String(),
  kind: ClassKind,
  course: Course,
  school: School,
  terms: Type.Array(Term),
  teachers: Type.Array(Teacher),
  location: Nullable(Type.String()),
  periods: Type.Array(Type.String()),
  meetings: Type.Array(Meeting, {
    description: 'Weekly, by day and start; empty if unknown.',
  }),
  subjects: Type.Array(Type.String()),
  enrolment: Enrolment,
  updatedAt: Timestamp(),
})

/** Without what a student sees of their own enrolment. */
export const PlainClass = Titled('PlainClass', Type.Omit(ClassEntry, ['enrolment']).properties)

/** A class as its teacher sees it. */
export const TaughtClass = Titled('TaughtClass', {
  ...PlainClass.properties,
  students: Type.Array(TaughtStudent),
})

const feedFields = {
  feedId: Id('The feed’s id, for revoking it. Not its URL.'),
  name: Type.String({ examples: ['My phone'] }),
  createdAt: Timestamp(),
}
export const CalendarFeed = Titled('CalendarFeed', {
  ...feedFields,
  lastReadAt: Nullable(Timestamp('When a calendar program last read it, to the hour; null if never.')),
})
export const CalendarFeedList = Titled('CalendarFeedList', { feeds: Type.Array(CalendarFeed) })
export const CalendarFeedRequest = Titled('CalendarFeedRequest', {
  name: Type.Optional(
    Type.String({
      description: 'To tell feeds apart; default "Calendar".',
      documented: { minLength: 1, maxLength: 100 },
      examples: ['My phone'],
    }),
  ),
})
/** The address is known only when the feed is made. */
export const NewCalendarFeed = Titled('NewCalendarFeed', {
  ...feedFields,
  url: Type.String({ examples: ['https://access.example.org/calendar/….ics'] }),
})

export const StudentCard = Titled('StudentCard', {
  card: Id('A random id that says nothing about the student and is not a credential.'),
  url: Type.String({ examples: ['https://access.example.org/c/qX7-b_c9dEfGhIjKlMnOpQ'] }),
  expiresAt: Timestamp(),
})

export const StudentExport = Titled('StudentExport', {
  exportedAt: Timestamp(),
  profile: StudentProfile,
  classes: Type.Array(ClassEntry),
  calendarFeeds: Type.Array(CalendarFeed),
  ...PasskeyFields,
  ...ConsentFields,
  ...SchoolLinkFields,
  ...HistoryFields,
})

export const ClassList = Titled('ClassList', { classes: readableWith('classes', Type.Array(ClassEntry)) })
export const TaughtClassList = Titled('TaughtClassList', {
  classes: readableWith('classes', Type.Array(TaughtClass)),
})
