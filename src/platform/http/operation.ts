/**
 * The one way to declare a call: who may make it, what it takes and answers, and the errors of its own. What follows from
 * that is derived here: the OpenAPI document, with the errors that every call of its kind has, and the status of the reply.
 * access.ts checks the rest.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema, RouteOptions } from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { ErrorCode } from '../../errors.ts'
import type { Role } from '../../roles.ts'
import type { Caller as Sender } from '../lib/bucket.ts'
import type { By } from '../lib/by.ts'
import { deviceOf } from '../lib/device.ts'
import { chooseLanguage, type Language } from '../lib/languages.ts'
import type { Access, AccessOf, Guard, Identity } from './access.ts'
import { jsonMediaType } from './bodies.ts'
import { showLimit } from './limits.ts'
import { bodyProblems, problems, tokenProblems } from './problem-schemas.ts'
import { Empty } from './schemas.ts'

type Route = `${'GET' | 'POST' | 'PATCH' | 'DELETE'} ${string}`

interface Options extends Pick<RouteOptions, 'bodyLimit' | 'onRequest'> {
  /** Media types of the body, if it is not JSON. */
  readonly consumes?: readonly string[]
  /** Sets up the scope of this route alone, such as its parsers. */
  readonly within?: (scope: FastifyInstance) => void
}

interface Declaration<Caller, Params extends TSchema, Query extends TSchema, Body extends TSchema, Reply>
  extends Options {
  /** The `operationId`. */
  readonly id: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly params?: Params
  readonly query?: Query
  readonly headers?: TSchema
  readonly body?: Body
  /** Without one, the reply is 204. */
  readonly reply?: Reply
  /** The status of the reply, if it is not 200. */
  readonly status?: 201 | 202
  /** The status of a reply without a body, if there may be one. */
  readonly orEmpty?: 204 | 304
  /** Errors beside those that follow from the access, the method and the body. */
  readonly refuses?: readonly ErrorCode[]
  /** Replies to a form that is refused, which are no problems. */
  readonly refusesForms?: Readonly<Record<number, FormRefusal>>
  answer(
    call: Call<Caller, Static<Params>, Static<Query>, Static<Body>>,
  ): Answer<Reply> | Promise<Answer<Reply>>
}

interface FormRefusal {
  readonly description?: string
  readonly schema: TSchema
}

type Declared = Declaration<unknown, TSchema, TSchema, TSchema, unknown> & AccessOf<Access>

/** A request to an operation. */
export interface Call<Caller = unknown, Params = unknown, Query = unknown, Body = unknown> {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly params: Params
  readonly query: Query
  readonly body: Body
  /** The session behind the token. */
  readonly caller: Caller
  /** Who makes a change: the member of staff who calls, or else the owner. */
  readonly by: By
  /** The one whom limits count. */
  readonly sender: Sender
  readonly language: Language
  readonly device: string
  readonly idempotencyKey: string | undefined
  /** For actions of staff that are hard to undo only in some requests. */
  readonly mustBeRecent: () => Promise<void>
}

type CallerAt<Caller, A> = A extends Role
  ? Extract<Caller, { role: A }>
  : A extends 'signed-in' | 'client'
    ? Caller
    : never

type Answer<Reply> = Static<Reply & TSchema> | FastifyReply

export interface Operation {
  readonly route: Route
  readonly access: AccessOf<Access>
  readonly options: Options
  readonly schema: FastifySchema
  readonly status: number
  answer(call: Call): unknown
}

/** For features that know what a session holds. */
export const operationFor =
  <Caller>() =>
  <const A extends Access, Params extends TSchema, Query extends TSchema, Body extends TSchema, Reply>(
    route: Route,
    declaration: Declaration<CallerAt<Caller, A>, Params, Query, Body, Reply> & AccessOf<A>,
  ): Operation => {
    const status = declaration.reply === undefined ? 204 : (declaration.status ?? 200)
    const schema = {
      ...requestSchema(declaration),
      response: responseSchemas(declaration, status, route.startsWith('GET ')),
    }
    const { answer } = declaration
    return { route, access: declaration, options: declaration, schema, status, answer }
  }

export const operation = operationFor<Identity>()

interface Page extends Options {
  readonly limit?: 'network' | 'none'
  readonly body?: TSchema
}

/** A page or a file, or a call that only browsers make: open to all, and not in the document. */
export function page(route: Route, answer: (call: Call) => unknown, options: Page = {}): Operation {
  const { limit = 'network', body, consumes } = options
  const schema = { hide: true, ...(body && { body }), ...(consumes && { consumes: [...consumes] }) }
  return { route, access: { access: 'public', limit }, options, schema, status: 200, answer }
}

function requestSchema({ id, tag, summary, description, access, ...rest }: Declared): FastifySchema {
  const { params, query, headers, body, consumes } = rest
  return {
    tags: [tag],
    operationId: id,
    summary,
    ...(description !== undefined && { description }),
    ...(isOpen(access) && { security: [] }),
    ...(consumes && { consumes: [...consumes] }),
    ...(params && { params }),
    ...(query && { querystring: query }),
    ...(headers && { headers }),
    ...(body && { body }),
  }
}

/** Without a token. */
const isOpen = (access: Access) => access === 'public' || access === 'portal'

function responseSchemas(declared: Declared, status: number, isGet: boolean): Record<number, unknown> {
  const { reply = Empty, orEmpty, refusesForms = {} } = declared
  const refusals = problems(problemsOf(declared, isGet))
  const ofForms = Object.entries(refusesForms).map(([status, { schema, ...more }]) => {
    const refusal = refusals[Number(status)]
    return [status, { ...refusal, ...more, content: { ...refusal?.content, [jsonMediaType]: { schema } } }]
  })
  return {
    ...refusals,
    ...Object.fromEntries(ofForms),
    [status]: reply,
    ...(orEmpty && { [orEmpty]: Empty }),
  }
}

function problemsOf({ access, consumes, query, ...rest }: Declared, isGet: boolean): ErrorCode[] {
  // Staff and services may not give unknown parameters.
  const readsQuery = query !== undefined || access === 'staff' || access === 'service'
  const takesJson = consumes === undefined || consumes.includes(jsonMediaType)
  const codes: ErrorCode[] = []
  if (!isGet) codes.push(...bodyProblems.filter((code) => takesJson || code !== 'malformed-json'))
  else if (readsQuery) codes.push('invalid-request')
  if (!isOpen(access)) codes.push(...tokenProblems)
  if (access !== 'public') codes.push('forbidden')
  if (rest.provedWithinMs !== undefined) codes.push('recent-sign-in-required')
  return [...codes, ...(rest.refuses ?? [])]
}

/** Await this, so that operations are in the document in their order. */
export async function addOperations(
  app: FastifyInstance,
  guard: Guard,
  operations: readonly Operation[],
): Promise<void> {
  for (const each of operations) {
    const { within } = each.options
    if (!within) addOperation(app, guard, each)
    else
      await app.register(async (scope) => {
        within(scope)
        addOperation(scope, guard, each)
      })
  }
}

function addOperation(app: FastifyInstance, guard: Guard, operation: Operation): void {
  const { access, schema, status } = operation
  const { bodyLimit, onRequest } = operation.options
  const [method, url] = operation.route.split(' ') as [string, string]
  app.route({
    method,
    url,
    config: access,
    schema,
    ...(bodyLimit !== undefined && { bodyLimit }),
    ...(onRequest && { onRequest }),
    // Asynchronous, so that an answer at hand is not sent before all that arrived with the request is parsed. If malformed
    // bytes follow it, their 400 is the only reply, as for any other call.
    async handler(request, reply) {
      const answer = await operation.answer(new OpenCall(request, reply.code(status), guard))
      return status === 204 ? reply.send() : answer
    },
  })
}

class OpenCall implements Call {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly #guard: Guard

  constructor(request: FastifyRequest, reply: FastifyReply, guard: Guard) {
    this.request = request
    this.reply = reply
    this.#guard = guard
  }

  get params() {
    return this.request.params
  }

  get query() {
    return this.request.query
  }

  get body() {
    return this.request.body
  }

  get caller() {
    return this.#guard.callerOf(this.request)
  }

  get by() {
    return this.#guard.byOf(this.request)
  }

  get sender(): Sender {
    const { request, reply } = this
    const noteLimit: Sender['noteLimit'] = (state) => showLimit(reply, state)
    return { network: this.#guard.networkOf(request), requestId: request.id, noteLimit }
  }

  get language() {
    return chooseLanguage(this.request.headers['accept-language'])
  }

  get device() {
    return deviceOf(this.request.headers['user-agent'])
  }

  get idempotencyKey() {
    return [this.request.headers['idempotency-key']].flat()[0]
  }

  get mustBeRecent() {
    return () => this.#guard.mustBeRecent(this.request)
  }
}
