/** Compiles a schema when it is first used. Compiling all of them at the start makes it 4.5 times as long. */
import AjvCompiler, { type BuildCompilerFromPool } from '@fastify/ajv-compiler'
import fastJson, { type Schema } from 'fast-json-stringify'

/** One compiler serves all routes with the same schemas. */
const compilerFor = AjvCompiler()

type Validator = ReturnType<ReturnType<BuildCompilerFromPool>>

export const validatorWhenUsed: BuildCompilerFromPool = (schemas, options) => (route) => {
  let compiled: Validator | undefined
  const validate: Pick<Validator, 'errors'> & ((data: unknown) => unknown) = (data) => {
    compiled ??= compilerFor(schemas, options)(route)
    const isValid = compiled(data)
    validate.errors = compiled.errors ?? null
    return isValid
  }
  return validate as Validator
}

export const serializerWhenUsed =
  (schemas: unknown) =>
  ({ schema }: { readonly schema?: unknown }) => {
    let serialize: ((data: unknown) => string) | undefined
    return (data: unknown) => {
      serialize ??= fastJson(schema as Schema, { schema: schemas as Record<string, Schema> })
      return serialize(data)
    }
  }
