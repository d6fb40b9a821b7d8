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
  problems,
  staffReadProblems,
  tokenProblems,
} from '../../platform/http/problem-schemas.ts'
import { Empty, Id, integerFrom, QueryInteger, QueryTime, timeFrom } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { type Clock, minute, second } from '../../platform/lib/clock.ts'
import { Recent } from '../../platform/lib/recent.ts'
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

const limits = { min: 1, max: 200 }
const years = { min: 0, max: 99 }

const testEveryMs = minute
const testersMax = 1_000

export interface SupportRoutesDeps {
  readonly support: Support
  readonly overview: Overview
  readonly clock: Clock
  readonly callerOf: CallerOf<LiveSession>
  readonly byStaffOf: ByOf
  testMail(to: string): Promise<Static<typeof TestMail>>
}

export function supportRoutes(
  root: FastifyInstance,
  { support, overview, clock, callerOf, byStaffOf, testMail }: SupportRoutesDeps,
): void {
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
        summary: 'Status of the service',
        description:
          'Figures for the console’s first page, about the whole service and never about one person.',
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
        description:
          'Veterinarians and students by words of their name, address, number or id. Without `sort`, whoever has exactly this address, number or id comes first.',
        querystring: Type.Object({
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
              description:
                'Veterinarians only. `lost`: those who were verified and have to be verified again.',
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
          limit: QueryInteger(limits, 'Maximum number of results; default 50.'),
        }),
        response: {
          200: PersonPage,
          ...problems(...staffReadProblems),
        },
      },
    },
    ({ query: { q = '', limit = '50', year, updatedSince, ...rest } }) =>
      support.find({
        text: q,
        ...rest,
        ...(year !== undefined && { year: integerFrom('year', year, years) }),
        ...(updatedSince !== undefined && { updatedSince: timeFrom('updatedSince', updatedSince) }),
        limit: integerFrom('limit', limit, limits),
      }),
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
        description: 'Sent immediately to the caller’s own address, at most once a minute.',
        response: { 200: TestMail, ...problems(...bodyProblems, ...tokenProblems, 'forbidden') },
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

  /** Actions that are hard to undo need a recent sign-in. */
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
        config: isGrave ? { ...staffChange('support') } : { ...config },
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
    'disconnect-school-account',
    'Disconnect a school account from a person',
    Disconnected,
    true,
    (id, { providerId }, request) => support.disconnect(id, providerId, byStaffOf(request)),
  )
  act(
    'verify',
    'Record that the school has checked who this veterinarian is',
    Checked,
    false,
    (id, body, request) =>
      support.verify(id, true, body.note ?? null, byStaffOf(request), seenAtFrom(body.updatedAt)),
  )
  act('unverify', 'Withdraw the verification', MaybeNote, false, (id, body, request) =>
    support.verify(id, false, body.note ?? null, byStaffOf(request)),
  )
  act('change-address', 'Move a veterinarian to another address', NewAddress, true, (id, body, request) => {
    const fields = new Fields()
    const address = fields.email(body.email)
    fields.check()
    return support.changeAddress(id, address, body.reason ?? null, byStaffOf(request))
  })
  act('close', 'Close a veterinarian’s account permanently', Why, true, (id, { reason }, request) =>
    support.close(id, reason, byStaffOf(request)),
  )
}

function seenAtFrom(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const at = Date.parse(text)
  if (Number.isNaN(at)) throw invalidField({ pointer: '#/updatedAt', detail: 'must be a time' })
  return at
}
