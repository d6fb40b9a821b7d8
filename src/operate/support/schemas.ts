import type { Static } from 'typebox'
import { PasskeyFields } from '../../identity/passkeys/schemas.ts'
import type { Status } from '../../identity/people/statuses.ts'
import { SchoolLinkFields } from '../../identity/school-account/schemas.ts'
import { HistoryFields } from '../../identity/session/schemas.ts'
import { EventEntry, EventPage } from '../../messages/events/schemas.ts'
import { Email, Nullable, Timestamp, Titled } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { type ServedRole, servedRoles } from '../../roles.ts'
import type { ClassEntry } from '../../school/student/schemas.ts'

type ClassKind = Static<typeof ClassEntry>['kind']

export const ServedRoleName = Type.Enum([...servedRoles], { title: 'ServedRole' })
const VerificationLost = Type.Object(
  {
    at: Timestamp(),
    because: Type.Enum(['name', 'address'], {
      title: 'LostVerificationCause',
      description: 'Which of the two changed.',
    }),
  },
  {
    title: 'LostVerification',
    description: 'Staff had verified this veterinarian, but a change cleared it: verify again.',
  },
)
const AccountStatus = Type.Unsafe<Status<ServedRole>>({ type: 'string' })
const summaryFields = {
  userId: Type.String(),
  role: ServedRoleName,
  status: AccountStatus,
  firstname: Nullable(Type.String()),
  lastname: Nullable(Type.String()),
  email: Nullable(Type.String()),
  studentNumber: Nullable(Type.String()),
  year: Nullable(Type.Integer({ description: 'Of a student.' })),
  verified: Type.Boolean(),
  verificationLost: Nullable(VerificationLost),
  createdAt: Timestamp(),
  updatedAt: Timestamp('When the profile or the status last changed.'),
}
export const PersonSummary = Titled('PersonSummary', summaryFields)
export const PersonPage = Titled('PersonPage', {
  people: Type.Array(PersonSummary),
  next: Nullable(Type.String()),
  similar: Type.Boolean({
    description: 'Nobody has these words in name, address or number. The names of these people are similar.',
  }),
})
const PersonProfile = Titled('PersonProfile', {
  ...summaryFields,
  confirmed: Type.Boolean(),
})
export const ClassSummary = Titled('ClassSummary', {
  classId: Type.String(),
  code: Nullable(Type.String()),
  title: Type.String(),
  kind: Type.Unsafe<ClassKind>({ type: 'string', examples: ['course'] }),
  location: Nullable(Type.String()),
  startDate: Nullable(Type.String({ format: 'date' })),
  endDate: Nullable(Type.String({ format: 'date' })),
  current: Type.Boolean(),
  students: Nullable(Type.Integer({ description: 'Number of students, if this person teaches the class.' })),
})
export const PersonEvent = Titled('PersonEvent', {
  ...EventEntry.properties,
  number: Nullable(Type.Integer()),
  note: Nullable(Type.String()),
})

export const PersonDetail = Titled('PersonDetail', {
  profile: PersonProfile,
  classes: Type.Array(ClassSummary, {
    description: 'The classes that a student attends or, according to the roster, a veterinarian teaches.',
  }),
  ...PasskeyFields,
  ...SchoolLinkFields,
  sessions: HistoryFields.sessions,
  deliveries: HistoryFields.deliveries,
  events: Type.Array(PersonEvent),
  names: EventPage.properties.names,
})

const OverviewState = Type.Enum(['well', 'wrong', 'not-set-up'], { title: 'OverviewState' })
const verdict = <Reason extends string>(...reasons: Reason[]) => ({
  state: OverviewState,
  reason: Nullable(
    Type.Unsafe<Reason>({
      type: 'string',
      description: `Why it is not well, or why to look although it is: ${reasons.map((reason) => `\`${reason}\``).join(', ')}.`,
    }),
  ),
})

const HourCount = Titled('HourCount', { from: Timestamp(), count: Type.Integer() })
const OverviewSignIns = Titled('OverviewSignIns', {
  ...verdict('none'),
  lastHour: Type.Integer({ description: 'In the last 60 minutes.' }),
  lastDay: Type.Integer({ description: 'The sum of `hours`.' }),
  hours: Type.Array(HourCount, {
    description: 'The last 24 clock hours including the current one, oldest first.',
  }),
})
const OverviewStore = Titled('OverviewStore', { engine: Type.String(), schema: Type.Integer() })
const OverviewMail = Titled('OverviewMail', {
  ...verdict('caught', 'stuck', 'failing', 'slow', 'some-failed'),
  unsent: Type.Integer(),
  oldestAt: Nullable(Timestamp('Time since which the oldest has been waiting.')),
  failedLastDay: Type.Integer({ description: 'Mails that failed permanently in the same hours.' }),
})
const OverviewAttack = Titled('OverviewAttack', {
  ...verdict('guessing'),
  underAttack: Type.Boolean({
    description: 'All new codes have eight digits, and open six-digit codes are refused.',
  }),
  wrongCodesLastHour: Type.Integer(),
  threshold: Type.Integer({ description: 'This many wrong codes in an hour count as an attack.' }),
  wrongCodesLastDay: Type.Integer(),
  dayThreshold: Type.Integer({ description: 'This many wrong codes in a day count as an attack.' }),
})
const RosterFetch = Titled('RosterFetch', {
  at: Timestamp(),
  outcome: Type.String({
    description: '`imported`, `unchanged`, `overdue`, `held`, `refused`, `busy` or `failed`.',
  }),
})
const OverviewRoster = Titled('OverviewRoster', {
  ...verdict('never-imported', 'no-students', 'overdue', 'fetch-stopped', 'fetch-late'),
  generation: Nullable(Type.Integer()),
  publishedAt: Nullable(Timestamp('When an import, undo or correction made this roster the current one.')),
  checkedAt: Nullable(Timestamp('When one was last imported, or compared with a file without changes.')),
  fileAt: Nullable(Timestamp('When the newest fetched file was written, or first seen.')),
  lastFetch: Nullable(RosterFetch),
  nextFetchAt: Nullable(Timestamp('A day after the last fetch, if rosters are fetched.')),
})
const OverviewWebhooks = Titled('OverviewWebhooks', {
  ...verdict('none', 'failing'),
  failing: Type.Integer(),
  switchedOff: Type.Integer({
    description: 'Switched off by the service: they answered 410 or failed for three days.',
  }),
})
const PeopleCount = Titled('PeopleCount', {
  role: ServedRoleName,
  status: AccountStatus,
  count: Type.Integer(),
})
const OverviewPeople = Titled('OverviewPeople', {
  ...verdict('nobody', 'check-again'),
  countedAt: Timestamp('People are counted at most every ten minutes.'),
  counts: Type.Array(PeopleCount),
  toCheckAgain: Type.Integer({
    description: 'Veterinarians who were verified but have changed their name or address since.',
  }),
})
export const OverviewReply = Titled('Overview', {
  at: Timestamp(),
  version: Type.String(),
  store: OverviewStore,
  signIns: OverviewSignIns,
  mail: OverviewMail,
  attack: OverviewAttack,
  roster: OverviewRoster,
  webhooks: OverviewWebhooks,
  people: OverviewPeople,
})

const note = (description: string) => Type.String({ description, documented: { maxLength: 1000 } })
export const Why = Titled('Reason', { reason: note('Why. Kept with the event, and shown to staff.') })
export const MaybeWhy = Titled('OptionalReason', { reason: Type.Optional(Why.properties.reason) })
const howChecked = note('How it was checked. Kept with the event, and shown to staff.')
export const MaybeNote = Titled('OptionalNote', { note: Type.Optional(howChecked) })
export const Checked = Titled('CheckedProfile', {
  note: Type.Optional(howChecked),
  updatedAt: Type.Optional(
    Timestamp(
      'The `updatedAt` of the profile that was checked. If the profile has changed since, the reply is 409.',
    ),
  ),
})
export const NewAddress = Titled('NewAddress', { email: Email, reason: Type.Optional(Why.properties.reason) })

/** What the mail server said to a test mail. */
export const TestMail = Titled('TestMail', {
  server: Type.String({ description: 'The mail server.' }),
  taken: Type.Boolean(),
  reply: Type.String({ description: 'Its reply, verbatim.' }),
  advice: Nullable(Type.String({ description: 'The usual cause and remedy.' })),
})

export const Disconnected = Titled('DisconnectSchoolAccount', {
  providerId: Type.String({ description: 'The provider of the school account.' }),
})
