import type { Static } from 'typebox'
import { AppError, invalidField } from '../../errors.ts'
import { Fields } from '../../identity/people/fields.ts'
import { statuses } from '../../identity/people/people.ts'
import { operation } from '../../identity/session/operation.ts'
import type { Context } from '../../platform/context.ts'
import { staffChange } from '../../platform/http/access.ts'
import {
  Id,
  integerFrom,
  Limit,
  limitFrom,
  QueryInteger,
  QueryTime,
  timeFrom,
} from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { BoundedMap } from '../../platform/lib/bounded-map.ts'
import { minute, second } from '../../platform/lib/clock.ts'
import { servedRoles } from '../../roles.ts'
import type { Overview } from './overview.ts'
import {
  Checked,
  Disconnected,
  MaybeNote,
  MaybeWhy,
  NewAddress,
  OverviewReply,
  PersonDetail,
  PersonPage,
  ServedRoleName,
  TestMail,
  Why,
} from './schemas.ts'
import { type Support, sorts, verifiedStates } from './support.ts'

const years = { min: 0, max: 99 }

const testEveryMs = minute
const testersMax = 1_000

interface Deps extends Pick<Context, 'clock'> {
  readonly support: Support
  readonly overview: Overview
  testMail(to: string): Promise<Static<typeof TestMail>>
}

export const supportRoutes = (deps: Deps) => [
  operation('GET /staff/overview', {
    access: 'staff',
    may: 'any',
    tag: 'staff',
    id: 'getOverview',
    summary: 'Status of the service',
    description: 'Figures for the console’s first page, about the whole service and never about one person.',
    reply: OverviewReply,
    answer: () => deps.overview.read(),
  }),
  ...findingPeople(deps.support),
  testingMail(deps),
  ...changingAccounts(deps.support),
  ...changingVeterinarians(deps.support),
]

const helping = { access: 'staff', may: 'support', tag: 'staff' } as const
const params = Type.Object({ userId: Id('The person’s id.') })

const PeopleQuery = Type.Object({
  q: Type.Optional(Type.String()),
  role: Type.Optional(ServedRoleName),
  status: Type.Optional(
    Type.Enum([...new Set(servedRoles.flatMap((role) => [...statuses[role]]))], {
      title: 'AccountStatus',
    }),
  ),
  year: QueryInteger(years, 'Students of this year.'),
  verified: Type.Optional(
    Type.Enum([...verifiedStates], {
      title: 'Verification',
      description: 'Veterinarians only. `lost`: those who were verified and have to be verified again.',
    }),
  ),
  updatedSince: QueryTime(
    'Only people whose profile or status has changed at or after this time, closed accounts included. To keep a copy up to date, give the largest `updatedAt` that you have seen, less a minute.',
  ),
  sort: Type.Optional(
    Type.Enum([...sorts], {
      title: 'PeopleOrder',
      description:
        'By last and first name (people without a name come last), by the time when the account was created, or by the time of the last change; with `-`, backwards. The default is `name`, or `updated` with `updatedSince`. Nobody who does not change is skipped or repeated between pages.',
    }),
  ),
  after: Type.Optional(
    Type.String({ description: 'The `next` value of the previous page, in the same order.' }),
  ),
  limit: Limit,
})

const findingPeople = (support: Support) => [
  operation('GET /staff/people', {
    ...helping,
    id: 'findPeople',
    summary: 'Find people',
    description:
      'Veterinarians and students by words of their name, address, number or id. Without `sort`, whoever has exactly this address, number or id comes first.',
    query: PeopleQuery,
    reply: PersonPage,
    answer: ({ query: { q = '', limit, year, updatedSince, ...rest } }) =>
      support.find({
        text: q,
        ...rest,
        ...(year !== undefined && { year: integerFrom('year', year, years) }),
        ...(updatedSince !== undefined && { updatedSince: timeFrom('updatedSince', updatedSince) }),
        limit: limitFrom(limit),
      }),
  }),

  operation('GET /staff/people/:userId', {
    ...helping,
    id: 'showPerson',
    summary: 'A person, with sessions, deliveries and events',
    params,
    reply: PersonDetail,
    refuses: ['not-found'],
    answer: ({ params }) => support.show(params.userId),
  }),
]

function testingMail({ clock, testMail }: Deps) {
  const testedAt = new BoundedMap<string, number>(testersMax)
  return operation('POST /staff/mail/test', {
    ...helping,
    id: 'sendTestMail',
    summary: 'Send a test mail to myself',
    description: 'Sent immediately to the caller’s own address, at most once a minute.',
    reply: TestMail,
    answer({ caller: { id, email } }) {
      const now = clock.now()
      const waitMs = (testedAt.get(id) ?? Number.NEGATIVE_INFINITY) + testEveryMs - now
      if (waitMs > 0)
        throw new AppError('too-many-requests', undefined, { retryAfterSeconds: Math.ceil(waitMs / second) })
      testedAt.set(id, now)
      return testMail(email)
    },
  })
}

const changing = { ...helping, params, refuses: ['not-found', 'conflict'] } as const
/** For actions that are hard to undo. */
const changingForGood = {
  ...changing,
  ...staffChange('support'),
  description: 'Needs a sign-in at most 30 minutes old.',
} as const

const changingAccounts = (support: Support) => [
  operation('POST /staff/people/:userId/suspend', {
    ...changingForGood,
    id: 'suspendPerson',
    summary: 'Suspend an account and end its sessions',
    body: Why,
    answer: ({ params, body, by }) => support.suspend(params.userId, body.reason, by),
  }),

  operation('POST /staff/people/:userId/reactivate', {
    ...changing,
    id: 'reactivatePerson',
    summary: 'Let a suspended account sign in again',
    body: MaybeWhy,
    answer: ({ params, body, by }) => support.reactivate(params.userId, body.reason ?? null, by),
  }),

  operation('POST /staff/people/:userId/sign-out', {
    ...changing,
    id: 'signOutPerson',
    summary: 'End all sessions of a person',
    body: MaybeWhy,
    answer: ({ params, by }) => support.signOut(params.userId, by),
  }),

  operation('POST /staff/people/:userId/disconnect-school-account', {
    ...changingForGood,
    id: 'disconnectSchoolAccountPerson',
    summary: 'Disconnect a school account from a person',
    body: Disconnected,
    answer: ({ params, body, by }) => support.disconnect(params.userId, body.providerId, by),
  }),
]

const changingVeterinarians = (support: Support) => [
  operation('POST /staff/people/:userId/verify', {
    ...changing,
    id: 'verifyPerson',
    summary: 'Record that the school has checked who this veterinarian is',
    body: Checked,
    answer: ({ params, body, by }) =>
      support.verify(params.userId, body.note ?? null, by, seenAtFrom(body.updatedAt)),
  }),

  operation('POST /staff/people/:userId/unverify', {
    ...changing,
    id: 'unverifyPerson',
    summary: 'Withdraw the verification',
    body: MaybeNote,
    answer: ({ params, body, by }) => support.unverify(params.userId, body.note ?? null, by),
  }),

  operation('POST /staff/people/:userId/change-address', {
    ...changingForGood,
    id: 'changeAddressPerson',
    summary: 'Move a veterinarian to another address',
    body: NewAddress,
    answer({ params, body, by }) {
      const fields = new Fields()
      const address = fields.email(body.email)
      fields.check()
      return support.changeAddress(params.userId, address, body.reason ?? null, by)
    },
  }),

  operation('POST /staff/people/:userId/close', {
    ...changingForGood,
    id: 'closePerson',
    summary: 'Close a veterinarian’s account permanently',
    body: Why,
    answer: ({ params, body, by }) => support.close(params.userId, body.reason, by),
  }),
]

function seenAtFrom(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const at = Date.parse(text)
  if (Number.isNaN(at)) throw invalidField({ pointer: '#/updatedAt', detail: 'must be a time' })
  return at
}
