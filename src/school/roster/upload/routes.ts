/** The roster for staff with the right `registrar`. */
import { Readable } from 'node:stream'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { AppError, invalidField } from '../../../errors.ts'
import type { LiveSession } from '../../../identity/session/session.ts'
import {
  type ByOf,
  type CallerOf,
  type MustBeRecent,
  routeConfig,
  staffChange,
} from '../../../platform/http/access.ts'
import {
  bodyProblems,
  problems,
  provenChangeProblems,
  staffReadProblems,
  tokenProblems,
} from '../../../platform/http/problem-schemas.ts'
import { Empty, Id, integerFrom, QueryInteger } from '../../../platform/http/schemas.ts'
import { Type } from '../../../platform/http/type.ts'
import { minute } from '../../../platform/lib/clock.ts'
import { fileBytesMax } from './file.ts'
import { mappingFrom, termsFrom } from './list-options.ts'
import {
  DayOrder,
  Group,
  generationNumbers,
  MatchKey,
  Mode,
  PendingRosterPlans,
  RosterApproval,
  RosterChangePage,
  RosterImportDetail,
  RosterImportList,
  RosterPlan,
  RosterUndo,
  RosterUndone,
  RosterUndoPlan,
} from './schemas.ts'
import type { Uploads } from './upload.ts'

const limits = { min: 1, max: 200 }
const badRows = { min: 0, max: 1_000_000 }
const zip = 'application/zip'
const mediaTypes = [zip, 'text/csv', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet']
const uploadWithinMs = 10 * minute

export interface UploadRoutesDeps {
  readonly uploads: Uploads
  readonly callerOf: CallerOf<LiveSession>
  readonly byStaffOf: ByOf
  readonly mustBeRecent: MustBeRecent
}

export async function uploadRoutes(
  root: FastifyInstance,
  { uploads, callerOf, byStaffOf, mustBeRecent }: UploadRoutesDeps,
): Promise<void> {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['staff']
  const config = routeConfig({ access: 'staff', may: 'registrar' })
  const params = Type.Object({ planId: Id('The plan’s id.') })
  const path = '/staff/roster/plans'
  const wanted = {
    group: Type.Optional({ ...Group, description: 'Only these.' }),
    q: Type.Optional(
      Type.String({ description: 'Only of people with this name, number or address, or parts of them.' }),
    ),
  }
  const page = {
    ...wanted,
    after: Type.Optional(Type.String({ description: 'The `next` value of the previous page.' })),
    limit: QueryInteger(limits, 'Maximum number of results; default 50.'),
  }
  const pageFrom = <Q extends { limit?: string }>({ limit = '50', ...rest }: Q) => ({
    ...rest,
    limit: integerFrom('limit', limit, limits),
  })
  const csv = {
    200: {
      description:
        'A line for each change. Texts that a spreadsheet would take for a formula begin with an apostrophe.',
      content: { 'text/csv': { schema: Type.String() } },
    },
    ...problems(...staffReadProblems, 'not-found'),
  }

  await root.register(async (scope) => {
    scope.addContentTypeParser(mediaTypes, (_request, payload, done) => done(null, payload))
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
            'A OneRoster set or the export of another system as a zip, or a class list as CSV or XLSX, of at most 64 MiB. Nothing changes yet. The plan is made after the reply; it shows its progress, and DELETE cancels it. A file that cannot be imported results in a plan in the state `refused`, whose findings say why. Plans are kept for a day, at most five per member of staff.',
          querystring: Type.Object({
            mode: Type.Optional({ ...Mode, description: 'Overrides the manifest.' }),
            match: Type.Optional({
              ...MatchKey,
              description: 'How to match accounts when the school’s system has assigned new sourcedIds.',
            }),
            skipBadRows: QueryInteger(badRows, 'Skip up to this many bad rows.'),
            map: Several(
              'What a column of a class list means, such as `number=Matricola`.',
              'number=Matricola',
            ),
            term: Several(
              'First and last day of a term of a class list, or of all its classes if no name is given.',
              'Autumn 2026=2026-08-17..2026-12-18',
            ),
            dates: Type.Optional({ ...DayOrder, description: 'How the dates of a class list are written.' }),
            name: Type.Optional(Type.String({ description: 'The file’s name, for display.' })),
          }),
          consumes: mediaTypes,
          body: {
            content: Object.fromEntries(
              mediaTypes.map((type) => [
                type,
                { schema: Type.Unsafe<Readable>({ documented: { type: 'string', format: 'binary' } }) },
              ]),
            ),
          },
          response: {
            202: RosterPlan,
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
        const { mode, match, skipBadRows, map, term, dates, name } = request.query
        const type = request.headers['content-type'] ?? zip
        const options = {
          ...(!type.toLowerCase().startsWith(zip) && { isList: true }),
          ...(map !== undefined && { map: mappingFrom([map].flat()) }),
          ...(term !== undefined && { terms: termsFrom([term].flat()) }),
          ...(dates && { dates }),
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
        }
        const plan = await uploads.upload(upload, options, byStaffOf(request))
        return reply.code(202).header('Location', `${path}/${plan.planId}`).send(plan)
      },
    )
  })

  app.get(
    path,
    {
      config,
      schema: {
        tags,
        operationId: 'listRosterPlans',
        summary: 'Uploaded plans that are pending, newest first',
        response: { 200: PendingRosterPlans, ...problems(...staffReadProblems) },
      },
    },
    async () => ({ plans: await uploads.pending() }),
  )

  app.get(
    `${path}/:planId`,
    {
      config,
      schema: {
        tags,
        operationId: 'getRosterPlan',
        summary: 'A plan and its progress',
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
        querystring: Type.Object(page),
        response: {
          200: RosterChangePage,
          ...problems(...staffReadProblems, 'not-found'),
        },
      },
    },
    ({ params: { planId }, query }) => uploads.changes(planId, pageFrom(query)),
  )

  app.get(
    `${path}/:planId/changes.csv`,
    {
      config,
      schema: {
        tags,
        operationId: 'downloadRosterChanges',
        summary: 'The changes of a plan as CSV',
        params,
        querystring: Type.Object(wanted),
        response: csv,
      },
    },
    async ({ params: { planId }, query }, reply) => sendCsv(reply, await uploads.report(planId, query)),
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
          'Also cancels a plan that is being made. Only the member of staff who uploaded it may do this, or an admin.',
        params,
        response: {
          204: Empty,
          ...problems(...bodyProblems, ...tokenProblems, 'forbidden', 'not-found', 'conflict'),
        },
      },
    },
    async (request, reply) => {
      const { id, may } = callerOf(request, 'staff')
      await uploads.discard(request.params.planId, { id, isAdmin: may.split(',').includes('admin') })
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
          ...problems(...provenChangeProblems, 'not-found', 'conflict', 'roster-moved-on'),
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
    () => uploads.imports.list(),
  )

  const numbered = Type.Object({
    number: Type.String({ description: 'The number of an import, undo or correction.' }),
  })
  const numberFrom = ({ number }: { number: string }) => {
    if (/^\d{1,9}$/.test(number)) return Number(number)
    throw new AppError('not-found', 'No import has this number.')
  }

  app.get(
    '/staff/roster/imports/:number',
    {
      config,
      schema: {
        tags,
        operationId: 'getRosterImport',
        summary: 'An import, undo or correction',
        params: numbered,
        response: { 200: RosterImportDetail, ...problems(...staffReadProblems, 'not-found') },
      },
    },
    ({ params: number }) => uploads.imports.show(numberFrom(number)),
  )

  app.get(
    '/staff/roster/imports/:number/changes',
    {
      config,
      schema: {
        tags,
        operationId: 'listRosterImportChanges',
        summary: 'The changes that an import made',
        description: '404 if they are no longer kept; `changesKept` says so beforehand.',
        params: numbered,
        querystring: Type.Object(page),
        response: { 200: RosterChangePage, ...problems(...staffReadProblems, 'not-found') },
      },
    },
    ({ params: number, query }) => uploads.imports.changes(numberFrom(number), pageFrom(query)),
  )

  app.get(
    '/staff/roster/imports/:number/changes.csv',
    {
      config,
      schema: {
        tags,
        operationId: 'downloadRosterImportChanges',
        summary: 'The changes that an import made, as CSV',
        params: numbered,
        querystring: Type.Object(wanted),
        response: csv,
      },
    },
    async ({ params: number, query }, reply) =>
      sendCsv(reply, await uploads.imports.report(numberFrom(number), query)),
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
      uploads.imports
        .showUndo(to === undefined ? null : integerFrom('to', to, generationNumbers))
        .catch(asParameter),
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
          ...problems(...provenChangeProblems, 'roster-moved-on'),
        },
      },
    },
    async (request) => {
      const { to = null, from = null, allow = [] } = request.body
      return { generation: await uploads.imports.undo({ to, from, allow, by: byStaffOf(request) }) }
    },
  )
}

/** A parameter that may be repeated. */
const Several = (description: string, example: string) =>
  Type.Optional(
    Type.Unsafe<string | string[]>({
      description,
      documented: { type: 'array', items: { type: 'string', examples: [example] } },
    }),
  )

function sendCsv(reply: FastifyReply, pieces: AsyncIterable<string>): FastifyReply {
  return reply
    .type('text/csv; charset=utf-8')
    .header('Content-Disposition', 'attachment; filename="roster-changes.csv"')
    .send(Readable.from(pieces))
}

/** In a query there are no pointers. */
function asParameter(error: unknown): never {
  const [first] = error instanceof AppError ? (error.extra.errors ?? []) : []
  throw first ? invalidField({ parameter: 'to', detail: first.detail }) : error
}
