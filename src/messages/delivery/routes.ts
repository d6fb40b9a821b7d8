/** The delivery records for staff, and the hook to which mail providers report bounces. */
import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import type { Context } from '../../platform/context.ts'
import { parseJsonBody } from '../../platform/http/json.ts'
import { operation, page } from '../../platform/http/operation.ts'
import { After, Limit, limitFrom } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { bySystem } from '../../platform/lib/by.ts'
import type { FailureLog } from '../../platform/lib/failure.ts'
import type { Secrets } from '../../platform/lib/secret.ts'
import { type Deliveries, states, waiting } from './delivery.ts'
import { hookSecret } from './hook.ts'
import { readHook } from './providers.ts'
import { DeliveryPage } from './schemas.ts'

/** Providers quote the mail's headers. */
const hookBytesMax = 256 * 1024

interface Deps extends Pick<Context, 'secrets' | 'log'> {
  readonly deliveries: Deliveries
}

export const deliveryRoutes = (deps: Deps) => [finding(deps.deliveries), bounceHook(deps)]

const finding = (deliveries: Deliveries) =>
  operation('GET /staff/deliveries', {
    access: 'staff',
    may: 'support',
    tag: 'staff',
    id: 'findDeliveries',
    summary: 'Delivery records, newest first',
    description:
      'Of one address, which need not belong to anyone, or of all. Kept for 30 days. Never contains a code.',
    query: Type.Object({
      email: Type.Optional(Type.String({ description: 'All mails to this address, ignoring case.' })),
      state: Type.Optional(
        Type.Enum([...states, waiting], {
          title: 'DeliveryState',
          description:
            '`waiting`: still to be sent, whether `queued` or `deferred`; these are the unsent mails of the overview.',
        }),
      ),
      after: After,
      limit: Limit,
    }),
    reply: DeliveryPage,
    answer: ({ query: { limit, ...rest } }) => deliveries.find({ ...rest, limit: limitFrom(limit) }),
  })

const bounceHook = ({ deliveries, secrets, log }: Deps) =>
  page(
    'POST /hooks/bounces',
    async ({ reply, body, by }) => {
      const told = readHook(body)
      if (told === undefined)
        throw new AppError('invalid-request', 'This is not a report from a known provider.')
      if ('confirm' in told) tellOperator(told.confirm, log)
      else for (const bounce of told) await deliveries.bounced(bounce, { ...by, actor: bySystem.actor })
      return reply.code(204).send()
    },
    {
      bodyLimit: hookBytesMax,
      within: takePlainJson,
      // Checked before the body is read, so that a stranger's body is never parsed.
      onRequest: (request, _reply, done) => done(knowsSecret(request, secrets) ? undefined : stranger()),
    },
  )

/** Amazon SNS posts its JSON as text/plain. */
function takePlainJson(scope: FastifyInstance): void {
  scope.addContentTypeParser('text/plain', { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) =>
    parseJsonBody(body),
  )
}

/** Amazon SNS sends its password only when it is asked for one. */
function stranger(): AppError {
  return new AppError('unauthenticated', 'This needs the secret that "chiron mail bounced --setup" prints.', {
    headers: { 'WWW-Authenticate': 'Basic realm="bounces"' },
  })
}

function knowsSecret({ headers }: FastifyRequest, secrets: Secrets): boolean {
  const [scheme = '', value = ''] = (headers.authorization ?? '').split(' ', 2)
  const given = /^basic$/i.test(scheme)
    ? Buffer.from(value, 'base64')
        .toString()
        .replace(/^[^:]*:/, '')
    : /^bearer$/i.test(scheme)
      ? value
      : ''
  return secrets.all.some((keys) => {
    const [expected, found] = [Buffer.from(hookSecret(keys)), Buffer.from(given)]
    return expected.length === found.length && timingSafeEqual(expected, found)
  })
}

const snsHost = /^sns\.[a-z0-9-]+\.amazonaws\.com(\.cn)?$/

/** Nothing here follows links that a request brings; the operator opens it. */
function tellOperator(link: string, log: Pick<FailureLog, 'warn'>): void {
  const url = URL.parse(link)
  if (url?.protocol === 'https:' && snsHost.test(url.hostname))
    log.warn({ link: url.href }, 'Amazon SNS wants to report bounces here; open this link once to confirm')
  else log.warn({ host: url?.hostname ?? null }, 'a subscription to bounces has a link that is not Amazon’s')
}
