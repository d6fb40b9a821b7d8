/** Compiles a schema when it is first used. Compiling all of them would take half of the time of a start. */
import AjvCompiler, { type BuildCompilerFromPool } from '@fastify/ajv-compiler'
import fastJson, { type Schema } from 'fast-json-stringify'

/** Has one compiler for all routes that know the same schemas. */
const compilerFor = AjvCompiler()

export const validatorWhenUsed: BuildCompilerFromPool = (schemas, options) => {
  return (route) => {
    let compiled: ReturnType<ReturnType<BuildCompilerFromPool>> | undefined
    const validate = (data: unknown) => {
      compiled ??= compilerFor(schemas, options)(route)
      const isValid = compiled(data)
      validate.errors = compiled.errors
      return isValid
    }
    validate.errors = compiled?.errors
    return validate as NonNullable<typeof compiled>
  }
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
