import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'
import { AppError, invalidField } from '../../errors.ts'
import { Fields } from '../../identity/people/fields.ts'
import { statuses } from '../../identity/people/people.ts'
import type { LiveSession } from '../../identity/session/session.ts'
import { type ByOf, type CallerOf, routeConfig, staffChange } from '../../platform/http/access.ts'
import {
  bodyProblems,
  Email,
  Empty,
  EventEntry,
  HistoryFields,
  Id,
  integerFrom,
  Nullable,
  problems,
  QueryInteger,
  Ref,
  staffReadProblems,
  Timestamp,
  tokenProblems,
} from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { type Clock, minute, second } from '../../platform/lib/clock.ts'
import { Recent } from '../../platform/lib/recent.ts'
import { servedRoles } from '../../roles.ts'
import type { Overview } from './overview.ts'
import { type Support, verifiedStates } from './support.ts'

const limits = { min: 1, max: 200 }

const summaryFields = {
  userId: Type.String(),
  role: Type.Enum([...servedRoles]),
  status: Type.String(),
  firstname: Nullable(Type.String()),
  lastname: Nullable(Type.String()),
  email: Nullable(Type.String()),
  studentNumber: Nullable(Type.String()),
  verified: Type.Boolean(),
  verificationLost: Nullable(
    Type.Object(
      {
        at: Timestamp(),
        because: Type.Enum(['name', 'address'], { description: 'What has changed.' }),
      },
      { description: 'Staff verified this veterinarian, and a change took it back: check again.' },
    ),
  ),
}
const PersonSummary = Type.Object(summaryFields, { $id: 'PersonSummary' })
const PersonDetail = Type.Object({
  profile: Type.Object({
    ...summaryFields,
    confirmed: Type.Boolean(),
    createdAt: Timestamp(),
    updatedAt: Timestamp(),
  }),
  classes: Type.Array(
    Type.Object({
      classId: Type.String(),
      code: Nullable(Type.String()),
      title: Type.String(),
      kind: Type.String({ examples: ['course'] }),
      location: Nullable(Type.String()),
      startDate: Nullable(Type.String({ format: 'date' })),
      endDate: Nullable(Type.String({ format: 'date' })),
      current: Type.Boolean(),
      students: Nullable(Type.Integer({ description: 'How many, where this person teaches.' })),
    }),
    { description: 'The classes that a student attends, or that a veterinarian teaches by the roster.' },
  ),
  sessions: HistoryFields.sessions,
  deliveries: HistoryFields.deliveries,
  events: Type.Array(
    Type.Object({
      ...EventEntry.properties,
      number: Nullable(Type.Integer()),
      note: Nullable(Type.String()),
    }),
  ),
})

const OverviewReply = Type.Object({
  at: Timestamp(),
  version: Type.String(),
  store: Type.Object({ engine: Type.String(), schema: Type.Integer() }),
  signIns: Type.Object({
    lastHour: Type.Integer({ description: 'In the last 60 minutes.' }),
    lastDay: Type.Integer({ description: 'The sum of `hours`.' }),
    hours: Type.Array(Type.Object({ from: Timestamp(), count: Type.Integer() }), {
      description: 'The 24 hours of the clock up to the present one, oldest first.',
    }),
  }),
  mail: Type.Object({
    unsent: Type.Integer(),
    oldestAt: Nullable(Timestamp('Since when the oldest of them waits.')),
    failedLastDay: Type.Integer({ description: 'Mails that were given up, in the same hours.' }),
  }),
  attack: Type.Object({
    underAttack: Type.Boolean({
      description: 'New codes have eight digits for everybody, and open ones of six digits take no answers.',
    }),
    wrongCodesLastHour: Type.Integer(),
    threshold: Type.Integer({ description: 'This many wrong codes in an hour count as an attack.' }),
    wrongCodesLastDay: Type.Integer(),
    dayThreshold: Type.Integer({ description: 'This many wrong codes in a day count as an attack.' }),
  }),
  roster: Type.Object({
    generation: Nullable(Type.Integer()),
    publishedAt: Nullable(Timestamp('When an import last changed the roster.')),
    checkedAt: Nullable(Timestamp('When one was last imported or fetched, also if it changed nothing.')),
    lastFetch: Nullable(
      Type.Object({
        at: Timestamp(),
        outcome: Type.String({
          description: '`imported`, `unchanged`, `held`, `refused`, `busy` or `failed`.',
        }),
      }),
    ),
    nextFetchAt: Nullable(Timestamp('A day after the last fetch, if rosters are fetched.')),
  }),
  webhooks: Type.Object({
    failing: Type.Integer(),
    switchedOff: Type.Integer({
      description: 'By the service: they answered 410, or failed for three days.',
    }),
  }),
  people: Type.Object({
    countedAt: Timestamp('People are counted at most every ten minutes.'),
    counts: Type.Array(
      Type.Object({
        role: Type.Enum([...servedRoles]),
        status: Type.String(),
        count: Type.Integer(),
      }),
    ),
    toCheckAgain: Type.Integer({
      description: 'Veterinarians who were verified and changed their name or address since.',
    }),
  }),
})

const note = (description: string) => Type.String({ description, documented: { maxLength: 1000 } })
const Why = Type.Object({ reason: note('Why. Kept with the event, and shown to staff.') })
const MaybeWhy = Type.Object({ reason: Type.Optional(Why.properties.reason) })
const howChecked = note('How it was checked. Kept with the event, and shown to staff.')
const MaybeNote = Type.Object({ note: Type.Optional(howChecked) })
const Checked = Type.Object({
  note: Type.Optional(howChecked),
  updatedAt: Type.Optional(
    Timestamp('That of the profile which was checked. If it has changed since, the reply is 409.'),
  ),
})
const NewAddress = Type.Object({ email: Email, reason: Type.Optional(Why.properties.reason) })

/** What the mail server said to a test mail. */
const TestMailReply = Type.Object({
  server: Type.String({ description: 'The mail server.' }),
  taken: Type.Boolean(),
  reply: Type.String({ description: 'What it said, word for word.' }),
  advice: Nullable(Type.String({ description: 'What usually is the matter.' })),
})
const testEveryMs = minute
const testersMax = 1_000

export interface SupportRoutesDeps {
  readonly support: Support
  readonly overview: Overview
  readonly clock: Clock
  readonly callerOf: CallerOf<LiveSession>
  readonly byStaffOf: ByOf
  testMail(to: string): Promise<Static<typeof TestMailReply>>
}

export function supportRoutes(
  root: FastifyInstance,
  { support, overview, clock, callerOf, byStaffOf, testMail }: SupportRoutesDeps,
): void {
  root.addSchema(PersonSummary)
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['staff']
  const config = routeConfig({ access: 'staff', may: 'support' })
  const params = Type.Object({ userId: Id('The person’s id.') })

  app.get(
    '/staff/overview',
    {
      config: routeConfig({ access: 'staff', may: 'any' }),
      schema: {
        tags,
        operationId: 'getOverview',
        summary: 'Is everything well?',
        description: 'Figures of the whole service for the console’s first page. None is about one person.',
        response: { 200: OverviewReply, ...problems(...staffReadProblems) },
      },
    },
    () => overview.read(),
  )

  app.get(
    '/staff/people',
    {
      config,
      schema: {
        tags,
        operationId: 'findPeople',
        summary: 'Find people',
        description: 'Veterinarians and students by words of their name, address, number or id.',
        querystring: Type.Object({
          q: Type.Optional(Type.String()),
          role: Type.Optional(Type.Enum([...servedRoles])),
          status: Type.Optional(Type.Enum([...new Set(servedRoles.flatMap((role) => [...statuses[role]]))])),
          verified: Type.Optional(
            Type.Enum([...verifiedStates], {
              description:
                'Veterinarians alone. `lost`: those who were verified and have to be checked again.',
            }),
          ),
          after: Type.Optional(Type.String({ description: 'The `next` of the page before.' })),
          limit: QueryInteger(limits, 'How many at most; 50 if it is not said.'),
        }),
        response: {
          200: Type.Object({ people: Type.Array(Ref(PersonSummary)), next: Nullable(Type.String()) }),
          ...problems(...staffReadProblems),
        },
      },
    },
    ({ query: { q = '', limit = '50', ...rest } }) =>
      support.find({ text: q, ...rest, limit: integerFrom('limit', limit, limits) }),
  )

  app.get(
    '/staff/people/:userId',
    {
      config,
      schema: {
        tags,
        operationId: 'showPerson',
        summary: 'A person, with sessions, deliveries and events',
        params,
        response: { 200: PersonDetail, ...problems(...staffReadProblems, 'not-found') },
      },
    },
    (request) => support.show(request.params.userId),
  )

  const testedAt = new Recent<string, number>(testersMax)
  app.post(
    '/staff/mail/test',
    {
      config,
      schema: {
        tags,
        operationId: 'sendTestMail',
        summary: 'Send a test mail to myself',
        description: 'It goes to the address of the caller, at once, and at most once a minute.',
        response: { 200: TestMailReply, ...problems(...bodyProblems, ...tokenProblems, 'forbidden') },
      },
    },
    (request) => {
      const { id, email } = callerOf(request, 'staff')
      const now = clock.now()
      const waitMs = (testedAt.get(id) ?? Number.NEGATIVE_INFINITY) + testEveryMs - now
      if (waitMs > 0)
        throw new AppError('too-many-requests', undefined, { retryAfterSeconds: Math.ceil(waitMs / second) })
      testedAt.set(id, now)
      return testMail(email)
    },
  )

  /** What cannot be taken back easily needs a recent sign-in. */
  function act<Body extends TSchema>(
    name: string,
    summary: string,
    body: Body,
    isGrave: boolean,
    work: (userId: string, body: Static<Body>, request: FastifyRequest) => Promise<unknown>,
  ): void {
    const operation = name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
    app.post(
      `/staff/people/:userId/${name}`,
      {
        config: isGrave ? staffChange('support') : config,
        schema: {
          tags,
          operationId: `${operation}Person`,
          summary,
          ...(isGrave && { description: 'Needs a sign-in at most 30 minutes old.' }),
          params,
          body,
          response: {
            204: Empty,
            ...problems(
              ...bodyProblems,
              ...tokenProblems,
              'forbidden',
              'not-found',
              'conflict',
              ...(isGrave ? (['recent-sign-in-required'] as const) : []),
            ),
          },
        },
      },
      async (request, reply) => {
        await work((request.params as Static<typeof params>).userId, request.body as Static<Body>, request)
        return reply.code(204).send()
      },
    )
  }

  act('suspend', 'Suspend an account and end its sessions', Why, true, (id, { reason }, request) =>
    support.suspend(id, reason, byStaffOf(request)),
  )
  act('reactivate', 'Let a suspended account sign in again', MaybeWhy, false, (id, body, request) =>
    support.reactivate(id, body.reason ?? null, byStaffOf(request)),
  )
  act('sign-out', 'End all sessions of a person', MaybeWhy, false, (id, _, request) =>
    support.signOut(id, byStaffOf(request)),
  )
  act(
    'verify',
    'Say that the school has checked who this veterinarian is',
    Checked,
    false,
    (id, body, request) =>
      support.verify(id, true, body.note ?? null, byStaffOf(request), seenAtFrom(body.updatedAt)),
  )
  act('unverify', 'Take that back', MaybeNote, false, (id, body, request) =>
    support.verify(id, false, body.note ?? null, byStaffOf(request)),
  )
  act('change-address', 'Move a veterinarian to another address', NewAddress, true, (id, body, request) => {
    const fields = new Fields()
    const address = fields.email(body.email)
    fields.check()
    return support.changeAddress(id, address, body.reason ?? null, byStaffOf(request))
  })
  act('close', 'Close a veterinarian’s account for good', Why, true, (id, { reason }, request) =>
    support.close(id, reason, byStaffOf(request)),
  )
}

function seenAtFrom(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const at = Date.parse(text)
  if (Number.isNaN(at)) throw invalidField({ pointer: '#/updatedAt', detail: 'must be a time' })
  return at
}
