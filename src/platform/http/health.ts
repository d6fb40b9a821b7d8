import type { FastifyInstance } from 'fastify'
import { AppError } from '../../errors.ts'
import type { Db } from '../db/db.ts'
import { routeConfig } from './access.ts'
import { problems } from './problem-schemas.ts'
import { Type } from './type.ts'

const Health = Type.Object({ status: Type.Literal('ok', { title: 'HealthStatus' }) }, { title: 'Health' })

export function healthRoutes(app: FastifyInstance, { db }: { db: Db }): void {
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
    '/health/ready',
    { config, schema: schema('getReadiness', 'Can it serve requests, including the store?') },
    async () => {
      try {
        await db.one('select 1 as ready')
      } catch (cause) {
        throw new AppError('unavailable', 'The store is unreachable.', { retryAfterSeconds: 2, cause })
      }
      return { status: 'ok' }
    },
  )
}
