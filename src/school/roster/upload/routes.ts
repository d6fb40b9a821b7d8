/** Roster uploads by staff with the right `registrar`: a plan of the changes first, then its import. */
import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { operation } from '../../../identity/session/operation.ts'
import { Id, integerFrom, QueryInteger } from '../../../platform/http/schemas.ts'
import { Type } from '../../../platform/http/type.ts'
import { minute } from '../../../platform/lib/clock.ts'
import { planChangeRoutes } from './change-routes.ts'
import { fileBytesMax } from './file.ts'
import { importRoutes } from './import-routes.ts'
import { mappingFrom, termsFrom } from './list-options.ts'
import { DayOrder, MatchKey, Mode, PendingRosterPlans, RosterApproval, RosterPlan } from './schemas.ts'
import type { Uploads } from './upload.ts'

const badRows = { min: 0, max: 1_000_000 }
const zip = 'application/zip'
const mediaTypes = [zip, 'text/csv', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet']
const uploadWithinMs = 10 * minute

const asRegistrar = { access: 'staff', may: 'registrar', tag: 'staff' } as const
const params = Type.Object({ planId: Id('The plan’s id.') })

export const uploadRoutes = (uploads: Uploads) => [
  uploading(uploads),
  ...readingPlans(uploads),
  ...planChangeRoutes(uploads),
  ...endingPlans(uploads),
  ...importRoutes(uploads.imports),
]

/** A parameter that may be repeated. */
const Several = (description: string, example: string) =>
  Type.Optional(
    Type.Unsafe<string | string[]>({
      description,
      documented: { type: 'array', items: { type: 'string', examples: [example] } },
    }),
  )

const UploadQuery = Type.Object({
  mode: Type.Optional({ ...Mode, description: 'Overrides the manifest.' }),
  match: Type.Optional({
    ...MatchKey,
    description: 'How to match accounts when the school’s system has assigned new sourcedIds.',
  }),
  skipBadRows: QueryInteger(badRows, 'Skip up to this many bad rows.'),
  map: Several('What a column of a class list means, such as `number=Matricola`.', 'number=Matricola'),
  term: Several(
    'First and last day of a term of a class list, or of all its classes if no name is given.',
    'Autumn 2026=2026-08-17..2026-12-18',
  ),
  dates: Type.Optional({ ...DayOrder, description: 'How the dates of a class list are written.' }),
  name: Type.Optional(Type.String({ description: 'The file’s name, for display.' })),
})

const file = { schema: Type.Unsafe<Readable>({ documented: { type: 'string', format: 'binary' } }) }

const uploading = (uploads: Uploads) =>
  operation('POST /staff/roster/plans', {
    ...asRegistrar,
    bodyWithinMs: uploadWithinMs,
    id: 'planRoster',
    summary: 'See what a roster would change',
    description:
      'A OneRoster set or the export of another system as a zip, or a class list as CSV or XLSX, of at most 64 MiB. Nothing changes yet. The plan is made after the reply; it shows its progress, and DELETE cancels it. A file that cannot be imported results in a plan in the state `refused`, whose findings say why. Plans are kept for a day, at most five per member of staff.',
    bodyLimit: fileBytesMax,
    within: takeFiles,
    consumes: mediaTypes,
    query: UploadQuery,
    body: { content: Object.fromEntries(mediaTypes.map((type) => [type, file])) },
    status: 202,
    reply: RosterPlan,
    refuses: ['not-found'],
    async answer({ request, reply, query, body, by }) {
      const bytes = Number(request.headers['content-length'] ?? 0)
      const upload = { file: body as Readable, bytes, name: query.name }
      const plan = await uploads.upload(upload, optionsFrom(request, query), by)
      reply.header('Location', `/staff/roster/plans/${plan.planId}`)
      return plan
    },
  })

function takeFiles(scope: FastifyInstance): void {
  scope.addContentTypeParser(mediaTypes, (_request, payload, done) => done(null, payload))
}

function optionsFrom({ headers }: FastifyRequest, query: Static<typeof UploadQuery>) {
  const { mode, match, skipBadRows, map, term, dates } = query
  const type = headers['content-type'] ?? zip
  return {
    ...(!type.toLowerCase().startsWith(zip) && { isList: true }),
    ...(map !== undefined && { map: mappingFrom([map].flat()) }),
    ...(term !== undefined && { terms: termsFrom([term].flat()) }),
    ...(dates && { dates }),
    ...(mode && { mode }),
    ...(match && { match }),
    ...(skipBadRows !== undefined && { skipBadRowsMax: integerFrom('skipBadRows', skipBadRows, badRows) }),
  }
}

const readingPlans = (uploads: Uploads) => [
  operation('GET /staff/roster/plans', {
    ...asRegistrar,
    id: 'listRosterPlans',
    summary: 'Uploaded plans that are pending, newest first',
    reply: PendingRosterPlans,
    answer: async () => ({ plans: await uploads.pending() }),
  }),

  operation('GET /staff/roster/plans/:planId', {
    ...asRegistrar,
    id: 'getRosterPlan',
    summary: 'A plan and its progress',
    params,
    reply: RosterPlan,
    refuses: ['not-found'],
    answer: ({ params: { planId } }) => uploads.show(planId),
  }),
]

const endingPlans = (uploads: Uploads) => [
  operation('DELETE /staff/roster/plans/:planId', {
    ...asRegistrar,
    id: 'discardRosterPlan',
    summary: 'Discard a plan and its file',
    description:
      'Also cancels a plan that is being made. Only the member of staff who uploaded it may do this, or an admin.',
    params,
    refuses: ['not-found', 'conflict'],
    answer: ({ caller: { id, may }, params: { planId } }) =>
      uploads.discard(planId, { id, isAdmin: may.split(',').includes('admin') }),
  }),

  operation('POST /staff/roster/plans/:planId/apply', {
    ...asRegistrar,
    id: 'applyRosterPlan',
    summary: 'Import a plan',
    description:
      'The import continues after the reply; the plan shows its progress. `allow` lists each hold of the plan; using it needs a sign-in at most 30 minutes old.',
    params,
    body: RosterApproval,
    status: 202,
    reply: RosterPlan,
    refuses: ['recent-sign-in-required', 'not-found', 'conflict', 'roster-moved-on'],
    async answer({ params, body: { allow = [] }, by, mustBeRecent }) {
      if (allow.length > 0) await mustBeRecent()
      return uploads.apply(params.planId, allow, by)
    },
  }),
]
