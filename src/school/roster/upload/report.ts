/** Changes as a table for spreadsheets: a line for each, with what it changes in words. */
import { byteOrderMark, spreadsheetLine } from '../../../platform/lib/spreadsheet.ts'
import { type Change, fieldsOf } from '../roster.ts'

const columns = ['operation', 'kind', 'name', 'studentNumber', 'email', 'changes', 'sourcedId']
const linesPerPiece = 200

export async function* changeReport(changes: AsyncIterable<Change>): AsyncGenerator<string> {
  let piece = [byteOrderMark, spreadsheetLine(columns)]
  for await (const change of changes) {
    piece.push(spreadsheetLine(cellsOf(change)))
    if (piece.length < linesPerPiece) continue
    yield piece.join('')
    piece = []
  }
  yield piece.join('')
}

function cellsOf(change: Change): (string | null)[] {
  const { kind, sourcedId, operation, name, studentNumber, before, after } = change
  const { email, number } = (after ?? before) as { email?: string | null; number?: string | null }
  const fields = fieldsOf(change).map(
    ({ field, before: was, after: is }) => `${field}: ${wordOf(was)} → ${wordOf(is)}`,
  )
  return [operation, kind, name, studentNumber ?? number ?? null, email ?? null, fields.join('; '), sourcedId]
}

function wordOf(value: unknown): string {
  if (value === null || value === undefined || value === '') return '(none)'
  if (Array.isArray(value)) return value.map(wordOf).join(', ') || '(none)'
  return typeof value === 'object' ? Object.values(value).join(' ') : String(value)
}
