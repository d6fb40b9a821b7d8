import { ConsentFields } from '../../identity/clients/consent-schemas.ts'
import { PasskeyFields } from '../../identity/passkeys/schemas.ts'
import { statuses } from '../../identity/people/statuses.ts'
import { SchoolLinkFields } from '../../identity/school-account/schemas.ts'
import { HistoryFields } from '../../identity/session/schemas.ts'
import { Id, Nullable, Timestamp } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { readableWith } from '../../platform/lib/readable.ts'
import { weekdays } from './classes.ts'

/** Which classes, by date; current ones if it is left out. */
export const WhenQuery = Type.Object({
  when: Type.Optional(Type.Enum(['current', 'upcoming', 'past', 'all'], { title: 'When' })),
})

export const School = Type.Object({ schoolId: Type.String(), name: Type.String() }, { title: 'School' })
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
const Meeting = Type.Object({ day: Weekday, start: TimeOfDay, end: TimeOfDay }, { title: 'Meeting' })

const StudentGroup = Type.Object(
  { classId: Type.String(), title: Type.String(), kind: ClassKind },
  { title: 'StudentGroup' },
)
const Course = Type.Object(
  { courseId: Type.String(), code: Nullable(Type.String()), title: Type.String() },
  { title: 'Course' },
)
const Term = Type.Object(
  {
    termId: Type.String(),
    title: Type.String(),
    startDate: CalendarDate,
    endDate: CalendarDate,
  },
  { title: 'Term' },
)
const Teacher = Type.Object(
  {
    firstname: Type.String(),
    lastname: Type.String(),
    email: Nullable(Type.String()),
    primary: Type.Boolean(),
  },
  { title: 'Teacher' },
)
const Enrolment = Type.Object(
  { startDate: Nullable(CalendarDate), endDate: Nullable(CalendarDate) },
  { title: 'Enrolment' },
)
const TaughtStudent = Type.Object(
  {
    firstname: Type.String(),
    lastname: Type.String(),
    preferredName: Nullable(Type.String()),
    pronouns: Nullable(Type.String()),
    email: Nullable(Type.String()),
    startDate: Nullable(CalendarDate),
    endDate: Nullable(CalendarDate),
  },
  { title: 'TaughtStudent' },
)

export const StudentProfile = Type.Object(
  {
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
  },
  { title: 'StudentProfile' },
)

export const ClassEntry = Type.Object(
  {
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
  },
  { title: 'Class' },
)

/** Without what a student sees of their own enrolment. */
export const PlainClass = Type.Object(Type.Omit(ClassEntry, ['enrolment']).properties, {
  title: 'PlainClass',
})

/** A class as its teacher sees it. */
export const TaughtClass = Type.Object(
  {
    ...PlainClass.properties,
    students: Type.Array(TaughtStudent),
  },
  { title: 'TaughtClass' },
)

const feedFields = {
  feedId: Id('The feed’s id, for revoking it. Not its URL.'),
  name: Type.String({ examples: ['My phone'] }),
  createdAt: Timestamp(),
}
export const CalendarFeed = Type.Object(
  {
    ...feedFields,
    lastReadAt: Nullable(Timestamp('When a calendar program last read it, to the hour; null if never.')),
  },
  { title: 'CalendarFeed' },
)
export const CalendarFeedList = Type.Object(
  { feeds: Type.Array(CalendarFeed) },
  { title: 'CalendarFeedList' },
)
export const CalendarFeedRequest = Type.Object(
  {
    name: Type.Optional(
      Type.String({
        description: 'To tell feeds apart; default "Calendar".',
        documented: { minLength: 1, maxLength: 100 },
        examples: ['My phone'],
      }),
    ),
  },
  { title: 'CalendarFeedRequest' },
)
/** The address is known only when the feed is made. */
export const NewCalendarFeed = Type.Object(
  {
    ...feedFields,
    url: Type.String({ examples: ['https://access.example.org/calendar/….ics'] }),
  },
  { title: 'NewCalendarFeed' },
)

export const StudentCard = Type.Object(
  {
    card: Id('A random id that says nothing about the student and is not a credential.'),
    url: Type.String({ examples: ['https://access.example.org/c/qX7-b_c9dEfGhIjKlMnOpQ'] }),
    expiresAt: Timestamp(),
  },
  { title: 'StudentCard' },
)

export const StudentExport = Type.Object(
  {
    exportedAt: Timestamp(),
    profile: StudentProfile,
    classes: Type.Array(ClassEntry),
    calendarFeeds: Type.Array(CalendarFeed),
    ...PasskeyFields,
    ...ConsentFields,
    ...SchoolLinkFields,
    ...HistoryFields,
  },
  { title: 'StudentExport' },
)

export const ClassList = Type.Object(
  { classes: readableWith('classes', Type.Array(ClassEntry)) },
  { title: 'ClassList' },
)
export const TaughtClassList = Type.Object(
  { classes: readableWith('classes', Type.Array(TaughtClass)) },
  { title: 'TaughtClassList' },
)
