import { AppError } from '../../errors.ts'
import { operation } from './operation.ts'
import { Titled } from './schemas.ts'
import { Type } from './type.ts'

const Health = Titled('Health', { status: Type.Literal('ok', { title: 'HealthStatus' }) })

export const readinessPath = '/health/ready'

/** What the service cannot do without, and what the reply says while it fails. */
export type ReadinessCheck = readonly [detail: string, check: () => Promise<unknown>]

const open = { access: 'public', limit: 'none', tag: 'operation', reply: Health } as const

export const healthRoutes = (checks: readonly ReadinessCheck[]) => [
  operation('GET /health/live', {
    ...open,
    id: 'getLiveness',
    summary: 'Is the process up?',
    answer: () => ({ status: 'ok' }) as const,
  }),

  operation(`GET ${readinessPath}`, {
    ...open,
    id: 'getReadiness',
    summary: 'Can it serve requests, including the store?',
    async answer() {
      for (const [detail, check] of checks)
        await check().catch((error) => {
          const cause = (error instanceof AppError && error.extra.cause) || error
          throw new AppError('unavailable', detail, { retryAfterSeconds: 2, cause })
        })
      return { status: 'ok' } as const
    },
  }),
]
