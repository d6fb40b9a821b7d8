/**
 * Building blocks of schemas. A schema with a `title` is a component of that name in the OpenAPI document (openapi.ts).
 * The portal takes its types from schemas, so files with schemas must not use Node.
 */
import type { TProperties, TSchema } from 'typebox'
import { invalidField } from '../../errors.ts'
import { languages } from '../lib/languages.ts'
import { instantFrom } from '../lib/time-text.ts'
import { Type } from './type.ts'

const names = Object.values(languages).map(({ english }) => english)
export const languageNames = `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`

export const Id = (description: string) => Type.String({ description, examples: ['q2nXcUoYTkKsmcYbkzyHRA'] })
export const Timestamp = (description?: string) =>
  Type.String({
    format: 'date-time',
    ...(description && { description }),
    examples: ['2026-11-15T09:00:00.000Z'],
  })

interface Span {
  readonly min: number
  readonly max: number
}

/** A whole number in the query, which arrives as text; `integerFrom` reads it. */
export const QueryInteger = ({ min, max }: Span, description: string) =>
  Type.Optional(Type.String({ description, documented: { type: 'integer', minimum: min, maximum: max } }))

export function integerFrom(parameter: string, text: string, { min, max }: Span): number {
  const value = Number(text)
  if (/^\d{1,16}$/.test(text) && value >= min && value <= max) return value
  throw invalidField({ parameter, detail: `must be a whole number from ${min} to ${max}` })
}

const limits = { min: 1, max: 200 }
/** For lists in pages; `limitFrom` reads it. */
export const Limit = QueryInteger(limits, 'Maximum number of results; default 50.')
export const limitFrom = (text = '50') => integerFrom('limit', text, limits)
export const After = Type.Optional(Type.String({ description: 'The `next` value of the previous page.' }))

/** A time in the query; `timeFrom` reads it. */
export const QueryTime = (description: string) =>
  Type.Optional(Type.String({ description, documented: { format: 'date-time' } }))

export function timeFrom(parameter: string, text: string): number {
  const at = instantFrom(text)
  if (at !== null) return at
  throw invalidField({ parameter, detail: 'must be a time such as 2026-11-15T09:00:00Z' })
}

/** An object that is a component of the OpenAPI document. */
export const Titled = <Properties extends TProperties>(title: string, properties: Properties) =>
  Type.Object(properties, { title })

/** With any members. */
export const OpenObject = <Value = unknown>() =>
  Type.Unsafe<Record<string, Value>>({ type: 'object', properties: {}, additionalProperties: true })

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

// `documented` keywords appear in the OpenAPI document but are not validated. people/ enforces these rules: it measures
// the normalised value and has better error messages.
export const Email = Type.String({
  description: 'One plain e-mail address. Kept as typed, compared lower-cased.',
  documented: { format: 'email', minLength: 3, maxLength: 254 },
  examples: ['ada@example.org'],
})
// Not every client generator supports \p{L}, so this accepts anything with a letter. people/names.ts is stricter.
const mayBeName = '^[^/@]*[A-Za-z\\u00aa\\u00b5\\u00ba\\u00c0-\\uffff][^/@]*$'
export const Name = (description: string, example: string) =>
  Type.String({
    description: `${description} Counted in Unicode’s NFC, without spaces around it. At least one letter; no /, @ or www.`,
    documented: { minLength: 1, maxLength: 100, pattern: mayBeName },
    examples: [example],
  })

export const Empty = Type.Unsafe<void>({ type: 'null', description: 'No content.' })
