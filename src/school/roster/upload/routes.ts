/** The roster for staff with the right `registrar`. */
import type { Readable } from 'node:stream'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { AppError, invalidField } from '../../../errors.ts'
import { type ByOf, type MustBeRecent, routeConfig, staffChange } from '../../../platform/http/access.ts'
import {
  bodyProblems,
  problems,
  staffReadProblems,
  tokenProblems,
} from '../../../platform/http/problem-schemas.ts'
import { Empty, Id, integerFrom, QueryInteger } from '../../../platform/http/schemas.ts'
import { Type } from '../../../platform/http/type.ts'
import { minute } from '../../../platform/lib/clock.ts'
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
  readonly byStaffOf: ByOf
  readonly mustBeRecent: MustBeRecent
}

export async function uploadRoutes(
  root: FastifyInstance,
  { uploads, byStaffOf, mustBeRecent }: UploadRoutesDeps,
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
            'A OneRoster set as a zip, of at most 64 MiB. Nothing changes yet. A file that cannot be imported results in a plan in the state `refused`, whose findings say why. Plans are kept for a day, at most five per member of staff.',
          querystring: Type.Object({
            mode: Type.Optional({ ...Mode, description: 'Overrides the manifest.' }),
            match: Type.Optional({
              ...MatchKey,
              description: 'How to match accounts when the school’s system has assigned new sourcedIds.',
            }),
            skipBadRows: QueryInteger(badRows, 'Skip up to this many bad rows.'),
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
        summary: 'A plan and the progress of its import',
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
        summary: 'The changes of a plan',
        description: 'Students first: leavers, changed addresses, other changes, newcomers.',
        params,
        querystring: Type.Object({
          group: Type.Optional({ ...Group, description: 'Only these.' }),
          after: Type.Optional(Type.String({ description: 'The `next` value of the previous page.' })),
          limit: QueryInteger(limits, 'Maximum number of results; default 50.'),
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
        description:
          'Also works while the file is being read: reading stops, and the upload is answered with 404.',
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
        summary: 'Import a plan',
        description:
          'The import continues after the reply; the plan shows its progress. `allow` lists each hold of the plan; using it needs a sign-in at most 30 minutes old.',
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
      if (allow.length > 0) await mustBeRecent(request)
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
        summary: 'Imports and undos, newest first',
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
        summary: 'See what an undo would change',
        querystring: Type.Object({
          to: QueryInteger(
            generationNumbers,
            'The number of the roster to restore; 0 is the empty roster. Default: the previous one.',
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
        summary: 'Restore an earlier roster',
        description:
          'The roster becomes exactly what it was then. Needs a sign-in at most 30 minutes old. With `from`, the value shown by the preview, it fails if the roster has changed since.',
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
      const { to = null, from = null, allow = [] } = request.body
      return { generation: await uploads.undo({ to, from, allow, by: byStaffOf(request) }) }
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
