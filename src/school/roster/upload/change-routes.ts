/** The changes of a plan or an import, in pages or as CSV. */
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Static } from 'typebox'
import { AppError } from '../../../errors.ts'
import { operation } from '../../../identity/session/operation.ts'
import { After, Id, Limit, limitFrom } from '../../../platform/http/schemas.ts'
import { Type } from '../../../platform/http/type.ts'
import type { Imports } from './imports.ts'
import { allChanges, type Changes, changesPage, type Wanted } from './listing.ts'
import { changeReport } from './report.ts'
import { Group, RosterChangePage } from './schemas.ts'
import type { Uploads } from './upload.ts'

const wanted = {
  group: Type.Optional({ ...Group, description: 'Only these.' }),
  q: Type.Optional(
    Type.String({ description: 'Only of people with this name, number or address, or parts of them.' }),
  ),
}

const changes = { access: 'staff', may: 'registrar', tag: 'staff', refuses: ['not-found'] } as const
const inPages = {
  ...changes,
  query: Type.Object({ ...wanted, after: After, limit: Limit }),
  reply: RosterChangePage,
} as const
const asCsv = {
  ...changes,
  query: Type.Object(wanted),
  reply: {
    description:
      'A line for each change. Texts that a spreadsheet would take for a formula begin with an apostrophe.',
    content: { 'text/csv': { schema: Type.String() } },
  },
} as const

const ofPlan = Type.Object({ planId: Id('The plan’s id.') })

export const planChangeRoutes = (uploads: Uploads) => [
  operation('GET /staff/roster/plans/:planId/changes', {
    ...inPages,
    id: 'listRosterChanges',
    summary: 'The changes of a plan',
    description: 'Students first: leavers, changed addresses, other changes, newcomers.',
    params: ofPlan,
    answer: async ({ params, query }) => pageOf(await uploads.changesOf(params.planId), query),
  }),

  operation('GET /staff/roster/plans/:planId/changes.csv', {
    ...asCsv,
    id: 'downloadRosterChanges',
    summary: 'The changes of a plan as CSV',
    params: ofPlan,
    answer: async ({ reply, params, query }) => sendCsv(reply, await uploads.changesOf(params.planId), query),
  }),
]

export const Numbered = Type.Object({
  number: Type.String({ description: 'The number of an import, undo or correction.' }),
})

export function numberFrom({ number }: { number: string }): number {
  if (/^\d{1,9}$/.test(number)) return Number(number)
  throw new AppError('not-found', 'No import has this number.')
}

export const importChangeRoutes = (imports: Imports) => [
  operation('GET /staff/roster/imports/:number/changes', {
    ...inPages,
    id: 'listRosterImportChanges',
    summary: 'The changes that an import made',
    description: '404 if they are no longer kept; `changesKept` says so beforehand.',
    params: Numbered,
    answer: async ({ params, query }) => pageOf(await imports.changesOf(numberFrom(params)), query),
  }),

  operation('GET /staff/roster/imports/:number/changes.csv', {
    ...asCsv,
    id: 'downloadRosterImportChanges',
    summary: 'The changes that an import made, as CSV',
    params: Numbered,
    answer: async ({ reply, params, query }) =>
      sendCsv(reply, await imports.changesOf(numberFrom(params)), query),
  }),
]

const pageOf = (changes: Changes, { limit, ...rest }: Static<typeof inPages.query>) =>
  changesPage(changes, { ...rest, limit: limitFrom(limit) })

function sendCsv(reply: FastifyReply, changes: Changes, wanted: Wanted): FastifyReply {
  return reply
    .type('text/csv; charset=utf-8')
    .header('Content-Disposition', 'attachment; filename="roster-changes.csv"')
    .send(Readable.from(changeReport(allChanges(changes, wanted))))
}
