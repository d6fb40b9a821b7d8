import type { FastifyInstance } from 'fastify'
import { AppError } from '../../errors.ts'
import { routeConfig } from './access.ts'
import { problems } from './problem-schemas.ts'
import { Type } from './type.ts'

const Health = Type.Object({ status: Type.Literal('ok', { title: 'HealthStatus' }) }, { title: 'Health' })

export const readinessPath = '/health/ready'

/** What the service cannot do without, and what the reply says while it fails. */
export type ReadinessCheck = readonly [detail: string, check: () => Promise<unknown>]

export function healthRoutes(app: FastifyInstance, checks: readonly ReadinessCheck[]): void {
  const config = routeConfig({ access: 'public', limit: 'none' })
  const schema = (operationId: string, summary: string) => ({
    tags: ['operation'],
    operationId,
    summary,
    security: [],
    response: { 200: Health, ...problems() },
  })
  app.get('/health/live', { config, schema: schema('getLiveness', 'Is the process up?') }, async () => ({
    status: 'ok',
  }))
  app.get(
    readinessPath,
    { config, schema: schema('getReadiness', 'Can it serve requests, including the store?') },
    async () => {
      for (const [detail, check] of checks)
        await check().catch((error) => {
          const cause = (error instanceof AppError && error.extra.cause) || error
          throw new AppError('unavailable', detail, { retryAfterSeconds: 2, cause })
        })
      return { status: 'ok' }
    },
  )
}
