/** Past imports, and restoring an earlier roster. */
import { AppError, invalidField } from '../../../errors.ts'
import { operation } from '../../../identity/session/operation.ts'
import { staffChange } from '../../../platform/http/access.ts'
import { integerFrom, QueryInteger } from '../../../platform/http/schemas.ts'
import { Type } from '../../../platform/http/type.ts'
import { importChangeRoutes, Numbered, numberFrom } from './change-routes.ts'
import type { Imports } from './imports.ts'
import {
  generationNumbers,
  RosterImportDetail,
  RosterImportList,
  RosterUndo,
  RosterUndone,
  RosterUndoPlan,
} from './schemas.ts'

const asRegistrar = { access: 'staff', may: 'registrar', tag: 'staff' } as const

export const importRoutes = (imports: Imports) => [
  ...readingImports(imports),
  ...importChangeRoutes(imports),
  ...undoing(imports),
]

const readingImports = (imports: Imports) => [
  operation('GET /staff/roster/imports', {
    ...asRegistrar,
    id: 'listRosterImports',
    summary: 'Imports and undos, newest first',
    reply: RosterImportList,
    answer: () => imports.list(),
  }),

  operation('GET /staff/roster/imports/:number', {
    ...asRegistrar,
    id: 'getRosterImport',
    summary: 'An import, undo or correction',
    params: Numbered,
    reply: RosterImportDetail,
    refuses: ['not-found'],
    answer: ({ params }) => imports.show(numberFrom(params)),
  }),
]

const undoing = (imports: Imports) => [
  operation('GET /staff/roster/undo', {
    ...asRegistrar,
    id: 'planRosterUndo',
    summary: 'See what an undo would change',
    query: Type.Object({
      to: QueryInteger(
        generationNumbers,
        'The number of the roster to restore; 0 is the empty roster. Default: the previous one.',
      ),
    }),
    reply: RosterUndoPlan,
    refuses: ['roster-moved-on'],
    answer: ({ query: { to } }) =>
      imports.showUndo(to === undefined ? null : integerFrom('to', to, generationNumbers)).catch(asParameter),
  }),

  operation('POST /staff/roster/undo', {
    ...staffChange('registrar'),
    tag: 'staff',
    id: 'undoRoster',
    summary: 'Restore an earlier roster',
    description:
      'The roster becomes exactly what it was then. Needs a sign-in at most 30 minutes old. With `from`, the value shown by the preview, it fails if the roster has changed since.',
    body: RosterUndo,
    reply: RosterUndone,
    refuses: ['roster-moved-on'],
    async answer({ body: { to = null, from = null, allow = [] }, by }) {
      return { generation: await imports.undo({ to, from, allow, by }) }
    },
  }),
]

/** In a query there are no pointers. */
function asParameter(error: unknown): never {
  const [first] = error instanceof AppError ? (error.extra.errors ?? []) : []
  throw first ? invalidField({ parameter: 'to', detail: first.detail }) : error
}
