/** Names of schemas that code generators also give to things of their own, so that their code would not compile. */

// biome-ignore lint/suspicious/noExplicitAny: a document is read freely
type Document = any

/** What oapi-codegen declares beside the schemas. */
const ofGo = `Client NewClient ClientOption ClientInterface ClientWithResponses NewClientWithResponses
  ClientWithResponsesInterface HttpRequestDoer RequestEditorFn ServerInterface WebhookInitiator WithBaseURL
  WithHTTPClient WithRequestEditorFn MiddlewareFunc Unimplemented`
/** Types of TypeScript, which openapi-generator renames. */
const ofTypeScript = 'Array Date Error Map Object Partial Readonly Record Required Set'

const inCamelCase = (text: string) =>
  text.replace(/(?:^|[^A-Za-z0-9]+)([a-z0-9])/gi, (_, letter: string) => letter.toUpperCase())

/** The types and functions that oapi-codegen declares for an operation. */
function ofOperation(operationId: string): string[] {
  const name = inCamelCase(operationId)
  const types = ['Params', 'Response', 'JSONBody', 'JSONRequestBody', 'FormdataBody', 'FormdataRequestBody']
  return [
    ...types.map((end) => name + end),
    ...[`New${name}Request`, `New${name}RequestWithBody`, `Parse${name}Response`, `With${name}`],
  ]
}

/** The constants that it declares for listed values: VerificationLost for `lost` of Verification. */
function ofValues(name: string, schema: Document): string[] {
  const own = (schema.enum ?? []).map((value: string) => name + inCamelCase(String(value)))
  const inner = Object.entries<Document>(schema.properties ?? {}).flatMap(([property, one]) =>
    ofValues(name + inCamelCase(property), one),
  )
  return [...own, ...inner]
}

export function clashesOf({ paths, webhooks, components }: Document): string[] {
  const schemas = Object.entries<Document>(components.schemas)
  const operations = [paths, webhooks].flatMap((items) =>
    Object.values<Document>(items).flatMap((item) => Object.values<Document>(item)),
  )
  const others = [
    ...`${ofGo} ${ofTypeScript}`.split(/\s+/),
    ...operations.flatMap(({ operationId }) => ofOperation(operationId)),
    ...schemas.flatMap(([name, schema]) => ofValues(name, schema)),
  ]
  const names = [...Object.keys(components.schemas), ...Object.keys(components.parameters)]
  // On some machines Session.ts and session.ts are one file.
  const twice = names.filter((name, i) =>
    names.slice(0, i).some((other) => other.toLowerCase() === name.toLowerCase()),
  )
  return [...names.filter((name) => others.includes(name)), ...twice]
}

/** Components that only webhooks refer to: oapi-codegen drops them, with their uses left in place. */
export function referencesOfWebhooks({ webhooks }: Document): string[] {
  return [...JSON.stringify(webhooks).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference!)
}

/** Bodies of one operation with different schemas: openapi-generator imports both, and writes one. */
export function operationsOfTwoBodies({ paths }: Document): string[] {
  return Object.values<Document>(paths).flatMap((item) =>
    Object.values<Document>(item)
      .filter(({ requestBody }) => {
        const media = Object.values<Document>(requestBody?.content ?? {})
        return new Set(media.map(({ schema }) => JSON.stringify(schema))).size > 1
      })
      .map(({ operationId }) => operationId),
  )
}
