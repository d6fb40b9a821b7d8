import type { Static } from 'typebox'
import { PasskeyFields } from '../../identity/passkeys/schemas.ts'
import type { Status } from '../../identity/people/statuses.ts'
import { SchoolLinkFields } from '../../identity/school-account/schemas.ts'
import { HistoryFields } from '../../identity/session/schemas.ts'
import { EventEntry, EventPage } from '../../messages/events/schemas.ts'
import { Email, Nullable, Timestamp } from '../../platform/http/schemas.ts'
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
export const PersonSummary = Type.Object(summaryFields, { title: 'PersonSummary' })
export const PersonPage = Type.Object(
  { people: Type.Array(PersonSummary), next: Nullable(Type.String()) },
  { title: 'PersonPage' },
)
const PersonProfile = Type.Object(
  {
    ...summaryFields,
    confirmed: Type.Boolean(),
  },
  { title: 'PersonProfile' },
)
export const ClassSummary = Type.Object(
  {
    classId: Type.String(),
    code: Nullable(Type.String()),
    title: Type.String(),
    kind: Type.Unsafe<ClassKind>({ type: 'string', examples: ['course'] }),
    location: Nullable(Type.String()),
    startDate: Nullable(Type.String({ format: 'date' })),
    endDate: Nullable(Type.String({ format: 'date' })),
    current: Type.Boolean(),
    students: Nullable(
      Type.Integer({ description: 'Number of students, if this person teaches the class.' }),
    ),
  },
  { title: 'ClassSummary' },
)
export const PersonEvent = Type.Object(
  {
    ...EventEntry.properties,
    number: Nullable(Type.Integer()),
    note: Nullable(Type.String()),
  },
  { title: 'PersonEvent' },
)

export const PersonDetail = Type.Object(
  {
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
  },
  { title: 'PersonDetail' },
)

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

const HourCount = Type.Object({ from: Timestamp(), count: Type.Integer() }, { title: 'HourCount' })
const OverviewSignIns = Type.Object(
  {
    ...verdict('none'),
    lastHour: Type.Integer({ description: 'In the last 60 minutes.' }),
    lastDay: Type.Integer({ description: 'The sum of `hours`.' }),
    hours: Type.Array(HourCount, {
      description: 'The last 24 clock hours including the current one, oldest first.',
    }),
  },
  { title: 'OverviewSignIns' },
)
const OverviewStore = Type.Object(
  { engine: Type.String(), schema: Type.Integer() },
  { title: 'OverviewStore' },
)
const OverviewMail = Type.Object(
  {
    ...verdict('caught', 'stuck', 'failing', 'slow', 'some-failed'),
    unsent: Type.Integer(),
    oldestAt: Nullable(Timestamp('Time since which the oldest has been waiting.')),
    failedLastDay: Type.Integer({ description: 'Mails that failed permanently in the same hours.' }),
  },
  { title: 'OverviewMail' },
)
const OverviewAttack = Type.Object(
  {
    ...verdict('guessing'),
    underAttack: Type.Boolean({
      description: 'All new codes have eight digits, and open six-digit codes are refused.',
    }),
    wrongCodesLastHour: Type.Integer(),
    threshold: Type.Integer({ description: 'This many wrong codes in an hour count as an attack.' }),
    wrongCodesLastDay: Type.Integer(),
    dayThreshold: Type.Integer({ description: 'This many wrong codes in a day count as an attack.' }),
  },
  { title: 'OverviewAttack' },
)
const RosterFetch = Type.Object(
  {
    at: Timestamp(),
    outcome: Type.String({
      description: '`imported`, `unchanged`, `overdue`, `held`, `refused`, `busy` or `failed`.',
    }),
  },
  { title: 'RosterFetch' },
)
const OverviewRoster = Type.Object(
  {
    ...verdict('never-imported', 'no-students', 'overdue', 'fetch-stopped', 'fetch-late'),
    generation: Nullable(Type.Integer()),
    publishedAt: Nullable(Timestamp('When an import, undo or correction made this roster the current one.')),
    checkedAt: Nullable(Timestamp('When one was last imported, or compared with a file without changes.')),
    fileAt: Nullable(Timestamp('When the newest fetched file was written, or first seen.')),
    lastFetch: Nullable(RosterFetch),
    nextFetchAt: Nullable(Timestamp('A day after the last fetch, if rosters are fetched.')),
  },
  { title: 'OverviewRoster' },
)
const OverviewWebhooks = Type.Object(
  {
    ...verdict('none', 'failing'),
    failing: Type.Integer(),
    switchedOff: Type.Integer({
      description: 'Switched off by the service: they answered 410 or failed for three days.',
    }),
  },
  { title: 'OverviewWebhooks' },
)
const PeopleCount = Type.Object(
  {
    role: ServedRoleName,
    status: AccountStatus,
    count: Type.Integer(),
  },
  { title: 'PeopleCount' },
)
const OverviewPeople = Type.Object(
  {
    ...verdict('nobody', 'check-again'),
    countedAt: Timestamp('People are counted at most every ten minutes.'),
    counts: Type.Array(PeopleCount),
    toCheckAgain: Type.Integer({
      description: 'Veterinarians who were verified but have changed their name or address since.',
    }),
  },
  { title: 'OverviewPeople' },
)
export const OverviewReply = Type.Object(
  {
    at: Timestamp(),
    version: Type.String(),
    store: OverviewStore,
    signIns: OverviewSignIns,
    mail: OverviewMail,
    attack: OverviewAttack,
    roster: OverviewRoster,
    webhooks: OverviewWebhooks,
    people: OverviewPeople,
  },
  { title: 'Overview' },
)

const note = (description: string) => Type.String({ description, documented: { maxLength: 1000 } })
export const Why = Type.Object(
  { reason: note('Why. Kept with the event, and shown to staff.') },
  { title: 'Reason' },
)
export const MaybeWhy = Type.Object(
  { reason: Type.Optional(Why.properties.reason) },
  { title: 'OptionalReason' },
)
const howChecked = note('How it was checked. Kept with the event, and shown to staff.')
export const MaybeNote = Type.Object({ note: Type.Optional(howChecked) }, { title: 'OptionalNote' })
export const Checked = Type.Object(
  {
    note: Type.Optional(howChecked),
    updatedAt: Type.Optional(
      Timestamp(
        'The `updatedAt` of the profile that was checked. If the profile has changed since, the reply is 409.',
      ),
    ),
  },
  { title: 'CheckedProfile' },
)
export const NewAddress = Type.Object(
  { email: Email, reason: Type.Optional(Why.properties.reason) },
  { title: 'NewAddress' },
)

/** What the mail server said to a test mail. */
export const TestMail = Type.Object(
  {
    server: Type.String({ description: 'The mail server.' }),
    taken: Type.Boolean(),
    reply: Type.String({ description: 'Its reply, verbatim.' }),
    advice: Nullable(Type.String({ description: 'The usual cause and remedy.' })),
  },
  { title: 'TestMail' },
)

export const Disconnected = Type.Object(
  { providerId: Type.String({ description: 'The provider of the school account.' }) },
  { title: 'DisconnectSchoolAccount' },
)
