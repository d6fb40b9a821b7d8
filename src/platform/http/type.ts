/**
 * Builds JSON schemas with the types of TypeBox. Only its types are imported: loading TypeBox itself costs 110 to 150
 * ms at startup (a seventh) and 24 MB per process.
 */
import type * as TypeBox from 'typebox'

type Schema = Record<string, unknown>

const optional = Symbol('optional')

const of =
  (type: string) =>
  (options: Schema = {}): Schema => ({ type, ...options })

function object(properties: Record<string, Schema>, options: Schema = {}): Schema {
  const required = Object.keys(properties).filter((name) => !(optional in properties[name]!))
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options }
}

function omit(schema: Schema, names: readonly string[]): Schema {
  const kept = Object.entries(schema.properties as Record<string, Schema>).filter(
    ([name]) => !names.includes(name),
  )
  return object(Object.fromEntries(kept))
}

const members = {
  Array: (items: Schema, options: Schema = {}): Schema => ({ type: 'array', items, ...options }),
  Boolean: of('boolean'),
  // Client generators need the type as well.
  Enum: (values: readonly (string | number)[], options: Schema = {}): Schema => ({
    type: typeof values[0] === 'string' ? 'string' : 'integer',
    enum: values,
    ...options,
  }),
  Integer: of('integer'),
  Literal: (value: unknown, options: Schema = {}): Schema => ({
    type: typeof value,
    const: value,
    ...options,
  }),
  Null: of('null'),
  Object: object,
  Omit: omit,
  Optional: (schema: Schema): Schema => ({ ...schema, [optional]: true }),
  Ref: (name: string): Schema => ({ $ref: name }),
  String: of('string'),
  Union: (schemas: readonly Schema[], options: Schema = {}): Schema => ({ anyOf: schemas, ...options }),
  Unsafe: (schema: Schema): Schema => schema,
}

/** Limited to what is implemented above, so that using anything else of TypeBox does not compile. */
export const Type = members as unknown as Pick<typeof TypeBox.Type, keyof typeof members>
