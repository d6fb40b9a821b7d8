/** The options of class lists, as they come in a query. */
import { invalidField } from '../../../errors.ts'
import { type Field, fieldNamed, fieldNames, TermDays } from '../lists/lists.ts'

/** From `number=Matricola`. */
export function mappingFrom(texts: readonly string[]): Partial<Record<Field, string>> {
  const mapping: Partial<Record<Field, string>> = {}
  for (const text of texts) {
    const [, name = '', header] = /^([^=]+)=(.+)$/s.exec(text) ?? []
    const field = fieldNamed(name)
    const detail = `takes a field and a header, such as number=Matricola; fields are ${fieldNames.join(', ')}`
    if (field === undefined || header === undefined) throw invalidField({ parameter: 'map', detail })
    mapping[field] = header
  }
  return mapping
}

/** From `2026-09-01..2027-01-31` or `Autumn=2026-09-01..2027-01-31`. */
export function termsFrom(texts: string[]): string[] {
  const days = new TermDays()
  const detail = 'takes the first and the last day, such as Autumn 2026=2026-08-17..2026-12-18'
  for (const text of texts) if (!days.add(text)) throw invalidField({ parameter: 'term', detail })
  return texts
}
