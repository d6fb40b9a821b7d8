/** The roster for staff with the right `registrar`. */
import type { Readable } from 'node:stream'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { AppError, invalidField } from '../../../errors.ts'
import type { LiveSession } from '../../../identity/session/session.ts'
import {
  type ByOf,
  type CallerOf,
  mustBeRecent,
  routeConfig,
  staffChange,
} from '../../../platform/http/access.ts'
import {
  bodyProblems,
  problems,
  staffReadProblems,
  tokenProblems,
} from '../../../platform/http/problem-schemas.ts'
import { Empty, Id, integerFrom, QueryInteger } from '../../../platform/http/schemas.ts'
import { Type } from '../../../platform/http/type.ts'
import { type Clock, minute } from '../../../platform/lib/clock.ts'
import {
  Group,
  generationNumbers,
  MatchKey,
  Mode,
  RosterApproval,
  RosterChangePage,
  RosterImportList,
  RosterPlan,
  RosterUndo,
  RosterUndone,
  RosterUndoPlan,
} from './schemas.ts'
import { fileBytesMax, type Uploads } from './upload.ts'

const limits = { min: 1, max: 200 }
const badRows = { min: 0, max: 1_000_000 }
const zip = 'application/zip'
const uploadWithinMs = 10 * minute

export interface UploadRoutesDeps {
  readonly uploads: Uploads
  readonly clock: Clock
  readonly callerOf: CallerOf<LiveSession>
  readonly byStaffOf: ByOf
}

export async function uploadRoutes(
  root: FastifyInstance,
  { uploads, clock, callerOf, byStaffOf }: UploadRoutesDeps,
): Promise<void> {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['staff']
  const config = routeConfig({ access: 'staff', may: 'registrar' })
  const params = Type.Object({ planId: Id('The plan’s id.') })
  const path = '/staff/roster/plans'

  await root.register(async (scope) => {
    scope.addContentTypeParser(zip, (_request, payload, done) => done(null, payload))
    scope.withTypeProvider<TypeBoxTypeProvider>().post(
      path,
      {
        bodyLimit: fileBytesMax,
        config: routeConfig({ access: 'staff', may: 'registrar', bodyWithinMs: uploadWithinMs }),
        schema: {
          tags,
          operationId: 'planRoster',
          summary: 'See what a roster would change',
          description:
            'A OneRoster set as a zip, of at most 64 MiB. Nothing changes yet. A file that cannot be imported gives a plan in the state `refused`, whose findings say why. Plans are kept for a day, and five of each member of staff.',
          querystring: Type.Object({
            mode: Type.Optional({ ...Mode, description: 'Overrides what the set says of itself.' }),
            match: Type.Optional({
              ...MatchKey,
              description: 'How accounts are kept when the school’s system gave everybody a new sourcedId.',
            }),
            skipBadRows: QueryInteger(badRows, 'Leave bad rows out if there are at most so many.'),
            name: Type.Optional(Type.String({ description: 'The file’s name, for display.' })),
          }),
          consumes: [zip],
          body: {
            content: {
              [zip]: { schema: Type.Unsafe<Readable>({ documented: { type: 'string', format: 'binary' } }) },
            },
          },
          response: {
            201: RosterPlan,
            ...problems(
              'invalid-request',
              'timeout',
              'body-too-large',
              'unsupported-media-type',
              ...tokenProblems,
              'forbidden',
              'not-found',
            ),
          },
        },
      },
      async (request, reply) => {
        const { mode, match, skipBadRows, name } = request.query
        const options = {
          ...(mode && { mode }),
          ...(match && { match }),
          ...(skipBadRows !== undefined && {
            skipBadRowsMax: integerFrom('skipBadRows', skipBadRows, badRows),
          }),
        }
        const upload = {
          file: request.body as Readable,
          bytes: Number(request.headers['content-length'] ?? 0),
          name,
          gone: whenGone(reply),
        }
        const plan = await uploads.upload(upload, options, byStaffOf(request))
        return reply.code(201).header('Location', `${path}/${plan.planId}`).send(plan)
      },
    )
  })

  app.get(
    `${path}/:planId`,
    {
      config,
      schema: {
        tags,
        operationId: 'getRosterPlan',
        summary: 'A plan, and how far its import is',
        params,
        response: { 200: RosterPlan, ...problems(...staffReadProblems, 'not-found') },
      },
    },
    ({ params: { planId } }) => uploads.show(planId),
  )

  app.get(
    `${path}/:planId/changes`,
    {
      config,
      schema: {
        tags,
        operationId: 'listRosterChanges',
        summary: 'What a plan would change, one by one',
        description: 'Students first: who leaves, whose address changes, who changes otherwise, who comes.',
        params,
        querystring: Type.Object({
          group: Type.Optional({ ...Group, description: 'Only these.' }),
          after: Type.Optional(Type.String({ description: 'The `next` of the page before.' })),
          limit: QueryInteger(limits, 'How many at most; 50 if it is not said.'),
        }),
        response: {
          200: RosterChangePage,
          ...problems(...staffReadProblems, 'not-found'),
        },
      },
    },
    ({ params: { planId }, query: { limit = '50', ...rest } }) =>
      uploads.changes(planId, { ...rest, limit: integerFrom('limit', limit, limits) }),
  )

  app.delete(
    `${path}/:planId`,
    {
      config,
      schema: {
        tags,
        operationId: 'discardRosterPlan',
        summary: 'Discard a plan and its file',
        description: 'Also while the file is read: the work ends, and its call is answered with 404.',
        params,
        response: {
          204: Empty,
          ...problems(...bodyProblems, ...tokenProblems, 'forbidden', 'not-found', 'conflict'),
        },
      },
    },
    async (request, reply) => {
      await uploads.discard(request.params.planId)
      return reply.code(204).send()
    },
  )

  app.post(
    `${path}/:planId/apply`,
    {
      config,
      schema: {
        tags,
        operationId: 'applyRosterPlan',
        summary: 'Import what a plan shows',
        description:
          'The import goes on after the reply; the plan shows how far it is. `allow` names each hold of the plan, and then needs a sign-in at most 30 minutes old.',
        params,
        body: RosterApproval,
        response: {
          202: RosterPlan,
          ...problems(
            ...bodyProblems,
            ...tokenProblems,
            'forbidden',
            'recent-sign-in-required',
            'not-found',
            'conflict',
            'roster-moved-on',
          ),
        },
      },
    },
    async (request, reply) => {
      const { allow = [] } = request.body
      if (allow.length > 0) mustBeRecent(callerOf(request), clock.now())
      return reply.code(202).send(await uploads.apply(request.params.planId, allow, byStaffOf(request)))
    },
  )

  app.get(
    '/staff/roster/imports',
    {
      config,
      schema: {
        tags,
        operationId: 'listRosterImports',
        summary: 'What was imported and undone, newest first',
        response: {
          200: RosterImportList,
          ...problems(...staffReadProblems),
        },
      },
    },
    async () => ({ imports: await uploads.imports() }),
  )

  app.get(
    '/staff/roster/undo',
    {
      config,
      schema: {
        tags,
        operationId: 'planRosterUndo',
        summary: 'See what going back would change',
        querystring: Type.Object({
          to: QueryInteger(
            generationNumbers,
            'The roster to go back to; 0 is the empty one. If it is not said, the one before.',
          ),
        }),
        response: {
          200: RosterUndoPlan,
          ...problems(...staffReadProblems, 'roster-moved-on'),
        },
      },
    },
    ({ query: { to } }) =>
      uploads.showUndo(to === undefined ? null : integerFrom('to', to, generationNumbers)).catch(asParameter),
  )

  app.post(
    '/staff/roster/undo',
    {
      config: staffChange('registrar'),
      schema: {
        tags,
        operationId: 'undoRoster',
        summary: 'Go back to an earlier roster',
        description:
          'The roster becomes exactly what it was then. Needs a sign-in at most 30 minutes old. With `from`, the `from` of what was looked at, it happens only if nothing came between.',
        body: RosterUndo,
        response: {
          200: RosterUndone,
          ...problems(
            ...bodyProblems,
            ...tokenProblems,
            'forbidden',
            'recent-sign-in-required',
            'roster-moved-on',
          ),
        },
      },
    },
    async (request) => {
      const { to = null, from = null } = request.body
      return { generation: await uploads.undo(to, from, byStaffOf(request)) }
    },
  )
}

/** Aborted when the connection ends before the reply. */
function whenGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort(new AppError('invalid-request', 'The connection was closed.'))
  })
  return gone.signal
}

/** In a query there are no pointers. */
function asParameter(error: unknown): never {
  const [first] = error instanceof AppError ? (error.extra.errors ?? []) : []
  throw first ? invalidField({ parameter: 'to', detail: first.detail }) : error
}
