/** What both engines refuse, and how much they hold. */
import { AppError } from '../../errors.ts'

/**
 * Columns hold whole numbers. PostgreSQL refuses a fraction, and SQLite would keep it until something else fails on it:
 * both engines call this first.
 */
export function checkNumbers(params: readonly unknown[]): void {
  for (const param of params)
    if (typeof param === 'number' && !Number.isSafeInteger(param))
      throw new TypeError(`parameter $${params.indexOf(param) + 1} is ${param}, which is not a whole number`)
}

/** How many statements stay prepared on a connection. There are fewer: texts do not contain values of callers. */
export const preparedMax = 1_000

/** How many callers may wait for the store before new ones are refused. */
export const waitingMax = 20_000

export function overloaded(): AppError {
  return new AppError('unavailable', 'Too many requests are waiting for the store.', { retryAfterSeconds: 2 })
}

export function outOfReach(cause: unknown): AppError {
  return new AppError('unavailable', 'The store is unreachable.', { retryAfterSeconds: 2, cause })
}
