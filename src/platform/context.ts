import type { Db } from './db/db.ts'
import type { Branding } from './lib/branding.ts'
import type { Clock } from './lib/clock.ts'
import type { FailureLog } from './lib/failure.ts'
import type { Range } from './lib/network.ts'
import type { Secrets } from './lib/secret.ts'

/** What features may need. Each says what it takes, such as Pick<Context, 'db' | 'clock'>; features.ts has them all. */
export interface Context {
  readonly db: Db
  readonly clock: Clock
  readonly secrets: Secrets
  readonly log: FailureLog
  readonly publicUrl: string
  readonly timeZone: string
  readonly branding: Branding
  /** Private addresses that webhooks and back-channel calls may reach. */
  readonly allow: readonly Range[]
  /** What the service calls itself in its requests to others. */
  readonly userAgent: string
}
