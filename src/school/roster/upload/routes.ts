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
  Empty,
  Id,
  integerFrom,
  Nullable,
  problems,
  QueryInteger,
  Ref,
  staffReadProblems,
  Timestamp,
  tokenProblems,
} from '../../../platform/http/schemas.ts'
import { Type } from '../../../platform/http/type.ts'
import { type Clock, minute } from '../../../platform/lib/clock.ts'
import { holdCodes, matchKeys, planKinds } from '../roster.ts'
import { fileBytesMax, groups, planFailures, planStates, type Uploads } from './upload.ts'

const limits = { min: 1, max: 200 }
const badRows = { min: 0, max: 1_000_000 }
const generations = { min: 0, max: 2 ** 31 - 1 }
const zip = 'application/zip'
const uploadWithinMs = 10 * minute

const operations = ['added', 'changed', 'leaving', 'returning'] as const
const n = Type.Integer()
const Count = Type.Object({ before: n, added: n, changed: n, leaving: n, returning: n, after: n })
const perhaps = Type.Optional(Count)
const Counts = Type.Object(
  {
    ...{ student: perhaps, class: perhaps, enrolment: perhaps, user: perhaps },
    ...{ role: perhaps, course: perhaps, term: perhaps, org: perhaps },
  },
  { description: 'By kind of record: how many there are now and then, and what happens. Empty if refused.' },
)
const Finding = Type.Object({
  severity: Type.Enum(['error', 'warning']),
  code: Type.String({ examples: ['duplicate-address'] }),
  file: Type.String(),
  line: Nullable(Type.Integer()),
  column: Nullable(Type.String()),
  value: Nullable(Type.String()),
  message: Type.String({ description: 'What was expected, for people.' }),
})
const Hold = Type.Object({
  code: Type.Enum([...holdCodes]),
  reason: Type.String(),
  numbers: Type.Object({}, { additionalProperties: true }),
})
const Progress = Type.Object({
  done: Type.Integer(),
  total: Nullable(Type.Integer({ description: 'Null while the file is read.' })),
})

const PlanReply = Type.Object(
  {
    planId: Type.String(),
    state: Type.Enum([...planStates], {
      description: '`refused`: the file has errors. `failed`: nothing has changed; it can be tried again.',
    }),
    failure: Nullable(
      Type.Enum([...planFailures], { description: 'Why it failed. `error`: the service’s log tells.' }),
    ),
    createdAt: Timestamp(),
    createdBy: Type.String({ description: 'The userId of the member of staff.' }),
    expiresAt: Timestamp('Until then it can be imported.'),
    fileName: Type.String(),
    sha256: Type.String(),
    version: Type.String({ examples: ['1.2'] }),
    rows: Type.Integer(),
    modes: Type.Array(Type.String(), { description: '`bulk`, `delta` or both, as the file was read.' }),
    missing: Type.Array(Type.String(), { description: 'Files of the standard that are not in it.' }),
    options: Type.Object({
      mode: Nullable(Type.Enum(['bulk', 'delta'])),
      match: Nullable(Type.Enum([...matchKeys])),
      skipBadRows: Type.Integer(),
    }),
    roster: Type.Integer({ description: 'The number of the roster that it was compared with.' }),
    counts: Counts,
    groups: Type.Array(
      Type.Object({
        group: Type.Enum([...groups]),
        count: Type.Integer(),
        kept: Type.Integer({ description: 'How many of them `/changes` lists.' }),
      }),
      { description: 'What changes, as people ask: first students, by what happens to them.' },
    ),
    holds: Type.Array(Hold, { description: 'What `allow` must name before it is imported.' }),
    badRows: Type.Integer(),
    skipsBadRows: Type.Boolean({ description: 'Whether those rows are left out.' }),
    errors: Type.Integer(),
    warnings: Type.Integer(),
    findings: Type.Array(Finding, { description: 'The first 1,000, errors first.' }),
    progress: Nullable(Progress),
    generation: Nullable(Type.Integer({ description: 'The number of the roster that it became.' })),
  },
  { $id: 'RosterPlan' },
)

const Side = Nullable(Type.Object({}, { additionalProperties: true }))
const Change = Type.Object(
  {
    kind: Type.Enum([...planKinds]),
    sourcedId: Type.String(),
    operation: Type.Enum([...operations]),
    name: Type.String(),
    studentNumber: Nullable(Type.String()),
    before: Side,
    after: Side,
  },
  { $id: 'RosterChange' },
)

const Import = Type.Object({
  generation: Type.Integer(),
  kind: Type.Enum(['import', 'undo', 'correction']),
  publishedAt: Timestamp(),
  actor: Nullable(Type.String({ description: '`operator` for the command line, or a userId.' })),
  actorName: Nullable(Type.String()),
  fileName: Nullable(Type.String()),
  sha256: Nullable(Type.String()),
  rows: Nullable(Type.Integer()),
  allowed: Type.Array(Type.String(), { description: 'The holds that were allowed.' }),
  content: Type.Integer({ description: 'Of an undo: the number of the roster that it went back to.' }),
  students: Type.Object({ added: n, changed: n, leaving: n, returning: n }),
  current: Type.Boolean({ description: 'Whether this is the roster in force.' }),
  canGoBack: Type.Boolean({ description: 'Whether an undo can go back to it.' }),
})

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
  root.addSchema(PlanReply)
  root.addSchema(Change)
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
            mode: Type.Optional(
              Type.Enum(['bulk', 'delta'], { description: 'Overrides what the set says of itself.' }),
            ),
            match: Type.Optional(
              Type.Enum([...matchKeys], {
                description: 'How accounts are kept when the school’s system gave everybody a new sourcedId.',
              }),
            ),
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
            201: Ref(PlanReply),
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
        response: { 200: Ref(PlanReply), ...problems(...staffReadProblems, 'not-found') },
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
          group: Type.Optional(Type.Enum([...groups], { description: 'Only these.' })),
          after: Type.Optional(Type.String({ description: 'The `next` of the page before.' })),
          limit: QueryInteger(limits, 'How many at most; 50 if it is not said.'),
        }),
        response: {
          200: Type.Object({ changes: Type.Array(Ref(Change)), next: Nullable(Type.String()) }),
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
        body: Type.Object({ allow: Type.Optional(Type.Array(Type.String(), { examples: [['leavers']] })) }),
        response: {
          202: Ref(PlanReply),
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
          200: Type.Object({ imports: Type.Array(Import) }),
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
            generations,
            'The roster to go back to; 0 is the empty one. If it is not said, the one before.',
          ),
        }),
        response: {
          200: Type.Object({
            from: Type.Integer({ description: 'The roster in force.' }),
            to: Type.Integer(),
            undone: Type.Array(Type.Integer(), { description: 'Newest first.' }),
            counts: Type.Object({ leaving: n, returning: n, changed: n }),
            changes: Type.Array(Ref(Change), { description: 'The first 1,000 students.' }),
          }),
          ...problems(...staffReadProblems, 'roster-moved-on'),
        },
      },
    },
    ({ query: { to } }) =>
      uploads.showUndo(to === undefined ? null : integerFrom('to', to, generations)).catch(asParameter),
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
        body: Type.Object({
          to: Type.Optional(Type.Integer({ minimum: generations.min, maximum: generations.max })),
          from: Type.Optional(Type.Integer({ minimum: generations.min, maximum: generations.max })),
        }),
        response: {
          200: Type.Object({
            generation: Type.Integer({ description: 'The number that the roster has now.' }),
          }),
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
