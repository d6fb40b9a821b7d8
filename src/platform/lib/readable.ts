/**
 * What an application's token reads. Each field of a reply says in its schema which scope reads it; a field that says
 * nothing is only for the school's own front ends. So a route that is opened to applications gives them nothing that
 * was not marked for them. Not for services, whose scope opens whole replies.
 */
import type { TSchema } from 'typebox'

interface Marks {
  readonly 'x-scope'?: string
  readonly 'x-identifying'?: true
}

export interface Reader {
  /** Separated by spaces. */
  readonly scope: string | null
  /** Whether it knows people by the ids that they have here. Otherwise it gets nothing by which two could compare them. */
  readonly knowsIds?: boolean
}

export const readableWith = <T extends TSchema>(scope: string, schema: T): T => ({
  ...schema,
  'x-scope': scope,
})

/** For a value that is the same at every application. */
export const identifying = <T extends TSchema>(schema: T): T => ({ ...schema, 'x-identifying': true })

/** The part of an object's schema that some scope reads; nothing in it is required. */
export function readablePart(schema: object): { type: 'object'; properties: Record<string, unknown> } {
  const marked = Object.entries(fieldsOf(schema)).filter(([, field]) => field['x-scope'] !== undefined)
  return { type: 'object', properties: Object.fromEntries(marked) }
}

export function readable<T extends object>(
  schema: object,
  value: T,
  { scope, knowsIds }: Reader,
): Partial<T> {
  const scopes = scope?.split(' ') ?? []
  const fields = fieldsOf(schema)
  const kept = Object.entries(value).filter(([name]) => {
    const { 'x-scope': needed, 'x-identifying': isIdentifying } = fields[name] ?? {}
    return needed !== undefined && scopes.includes(needed) && (knowsIds || !isIdentifying)
  })
  return Object.fromEntries(kept) as Partial<T>
}

const fieldsOf = (schema: object) => (schema as { properties?: Record<string, Marks> }).properties ?? {}
