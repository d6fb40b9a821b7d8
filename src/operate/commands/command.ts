/** Shared by all commands that work on the store. */
import { existsSync } from 'node:fs'
import { type Config, type Env, loadConfig, readEnv } from '../../config.ts'
import { AppError, UsageError } from '../../errors.ts'
import type { Features } from '../../features.ts'
import { outOfReach } from '../../platform/db/bounds.ts'
import { type Address, parseAddress } from '../../platform/lib/address.ts'
import { trustAuthorities } from '../../platform/lib/authorities.ts'
import { hostsOf } from '../../platform/lib/postgres-url.ts'
import { durationFrom, instantFrom } from '../../platform/lib/time-text.ts'
import { visible } from '../../platform/lib/visible.ts'
import { defaultDatabaseUrl } from '../../settings.ts'
import { print, printAside, printJson } from './output.ts'

export { visible } from '../../platform/lib/visible.ts'

export interface CommonOptions {
  readonly json?: boolean
  readonly envFile?: string
}

/** The settings, not yet validated. */
export const settingsFor = ({ envFile }: CommonOptions): Env => readEnv(process.env, envFile)

/** Before a command does or reads anything, because the process may be replaced. */
export function beforeCommand(options: CommonOptions): void {
  trustAuthorities(settingsFor(options).NODE_EXTRA_CA_CERTS)
}

export function configFor(options: CommonOptions): Config {
  return loadConfig(settingsFor(options))
}

/** For commands that need an existing store: only `serve` and `migrate` create one. */
export function configOfStore(options: CommonOptions): Config {
  const env = settingsFor(options)
  const file = defaultDatabaseUrl.slice('sqlite:'.length)
  if (!env.CHIRON_DATABASE_URL && !existsSync(file))
    throw new UsageError(
      `there is no store at ${file}, and no setting names another: pass the service’s settings with --env-file FILE or CHIRON_DATABASE_URL, or run "chiron migrate" to create a store`,
    )
  return loadConfig(env)
}

/** The name of the store for display, never with a password. */
export function storeOf(databaseUrl: string): { engine: string; place: string } {
  if (databaseUrl.startsWith('sqlite:'))
    return { engine: 'SQLite', place: databaseUrl.slice('sqlite:'.length) }
  const urls = hostsOf(databaseUrl).map((url) => URL.parse(url))
  const hosts = urls.map((url) => url?.searchParams.get('host') || url?.host || '?').join(',')
  return { engine: 'PostgreSQL', place: `${hosts}${urls[0]?.pathname ?? ''}` }
}

export async function withFeatures<T>(
  options: CommonOptions,
  work: (features: Features, config: Config) => Promise<T>,
): Promise<T> {
  const config = configOfStore(options)
  const { openFeatures } = await import('../../features.ts')
  const features = await openFeatures(config, { tell }).catch(storeFailed)
  try {
    return await work(features, config)
  } finally {
    await features.db.close()
  }
}

/** Any failure to open the store makes it unreachable. */
export function storeFailed(error: unknown): never {
  throw error instanceof UsageError || error instanceof AppError ? error : outOfReach(error)
}

/** On stderr, because the answer on stdout may be JSON. */
export function tell(line: string): void {
  printAside(line)
}

/** Prints the fields as JSON if asked to, and the text otherwise. */
export function say({ json }: CommonOptions, fields: object, text: string): void {
  if (json) printJson(fields)
  else print(text)
}

/** Columns as wide as their widest cell. */
export function table(rows: readonly (readonly string[])[]): string {
  const shown = rows.map((row) => row.map(visible))
  const widths = shown[0]?.map((_, i) => Math.max(...shown.map((row) => row[i]!.length))) ?? []
  return shown
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

export function addressFrom(text: string): Address {
  const address = parseAddress(text)
  if (typeof address === 'string') throw new UsageError(`${visible(text)}: ${address}`)
  return address
}

export function numberFrom(name: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < min || value > max)
    throw new UsageError(`${name} must be a whole number from ${min} to ${max}`)
  return value
}

/** An ISO date or time, or an age: `90m`, `36h`, `7d`. */
export function timeFrom(name: string, text: string, now: number): number {
  const agoMs = durationFrom(text)
  const at = agoMs === null ? instantFrom(text) : now - agoMs
  if (at !== null) return at
  throw new UsageError(
    `${name} must be a time such as 2026-11-15 or 2026-11-15T09:00Z, or an age such as 7d, 36h or 90m`,
  )
}
