/** `chiron doctor`: checks the installation, one line per finding. Exit code 1 if anything is bad. */
import { Resolver } from 'node:dns/promises'
import { existsSync, readFileSync } from 'node:fs'
import {
  type Config,
  type Env,
  loadConfig,
  openMethodsOf,
  providerRangesOf,
  smtpSettingsOf,
} from '../../config.ts'
import { UsageError } from '../../errors.ts'
import { Clients } from '../../identity/clients/clients.ts'
import { adminHasPasskey } from '../../identity/passkeys/passkeys.ts'
import { hasAccountAt } from '../../identity/people/people.ts'
import {
  adminHasLink,
  guardedFetch,
  OpenId,
  Providers,
  redirectUriOf,
} from '../../identity/school-account/school-account.ts'
import { addressOf } from '../../messages/mail/mime.ts'
import { lateFirstCodes } from '../../messages/mail/outbox.ts'
import { checkLogin } from '../../messages/mail/smtp.ts'
import type { Db } from '../../platform/db/db.ts'
import { openDb } from '../../platform/db/open.ts'
import { day, systemClock } from '../../platform/lib/clock.ts'
import { isLoopbackHost } from '../../platform/lib/network.ts'
import { unseal } from '../../platform/lib/seal.ts'
import { secretsFrom } from '../../platform/lib/secret.ts'
import { userAgent } from '../../version.ts'
import { checkApplications } from '../doctor/applications.ts'
import { checkFile, checkStore, storeUnreachable } from '../doctor/database.ts'
import { areas, type Finding } from '../doctor/doctor.ts'
import { checkMailServer } from '../doctor/mail-server.ts'
import { checkOutside, type Inside } from '../doctor/outside.ts'
import { checkPasskeys } from '../doctor/passkeys.ts'
import { rehearse } from '../doctor/rehearsal.ts'
import { checkSchoolAccounts } from '../doctor/school-account.ts'
import { checkSender, type DkimSettings } from '../doctor/sender.ts'
import { checkService } from '../doctor/service.ts'
import { becomeServiceUser, serviceOf } from '../doctor/service-user.ts'
import { checkSettings, settingsRefused } from '../doctor/settings.ts'
import {
  checkBackup,
  checkFirstCodes,
  checkKeys,
  checkOutbox,
  checkRoster,
  checkWebhooks,
  failingWebhooks,
  keyRows,
  lateCodes,
  passkeyCounts,
  unfinishedImport,
} from '../doctor/upkeep.ts'
import { type Figures, readFigures } from '../metrics/readings.ts'
import { type CommonOptions, numberFrom, settingsFor, table } from './command.ts'
import { printJson, print as printText } from './output.ts'

interface DoctorOptions extends CommonOptions {
  readonly fromOutside?: string
  readonly rehearse?: string
}

const domainsShown = 5
const dnsPatience = { timeout: 2_000, tries: 2 }

export async function doctor(options: DoctorOptions): Promise<void> {
  const people = options.rehearse === undefined ? null : numberFrom('--rehearse', options.rehearse, 1, 500)
  const outside = options.fromOutside === undefined ? null : outsideFrom(options.fromOutside)
  const env = settingsFor(options)
  const service = serviceOf(options.envFile)
  const user = becomeServiceUser(service, options.envFile)
  const findings = [...user, ...(await examine(env, service.unit, outside))]
  if (people !== null) findings.push(...(await rehearse(people, workersOf(env))))
  print(findings, options)
  if (findings.some(({ state }) => state === 'bad')) process.exitCode = 1
}

/** All findings except those about the user who runs the command, and without the rehearsal. */
export async function examine(env: Env, unit: string, outside: string | null): Promise<Finding[]> {
  const config = configOr(env)
  if (typeof config === 'string') return [settingsRefused(config)]
  const inProduction = configOr({ ...env, NODE_ENV: 'production' })
  const sender = addressOf(config.mailFrom)
  const found = await Promise.all([
    checkSettings({
      production: config.production,
      inProduction: typeof inProduction === 'string' ? inProduction : null,
      limits: config.limits,
      publicUrl: config.publicUrl,
      trustsProxies: config.trustedProxies.length > 0,
      hasPreviousSecret: config.secretPrevious !== null,
    }),
    withStore(config, async (db) => [
      ...(await examinePasskeys(db, config)),
      ...(db ? await examineApplications(db, config) : []),
      ...(await examineSchoolAccounts(db, config)),
      ...(await examineStore(db, config, unit, outside)),
    ]),
    checkMailServer({
      smtpUrl: config.smtpUrl,
      sender,
      now: systemClock.now(),
      checkLogin: () => checkLogin(smtpSettingsOf(config)!),
    }),
    checkSender(sender.split('@')[1]!, dkimOf(env), new Resolver(dnsPatience)),
  ])
  return found.flat().sort((a, b) => areas.indexOf(a.area) - areas.indexOf(b.area))
}

/** The settings, or the error in them. */
function configOr(env: Env): Config | string {
  try {
    return loadConfig(env, { makeSecret: false })
  } catch (error) {
    if (error instanceof UsageError) return error.message
    throw error
  }
}

/** Opens the store read-only. If that fails, the checks that do not need it still run. */
async function withStore(config: Config, work: (db: Db | null) => Promise<Finding[]>): Promise<Finding[]> {
  const fault = checkFile(config.databaseUrl)
  if (fault) return [fault, ...(await work(null))]
  let db: Db | null = null
  try {
    db = openDb(config.databaseUrl, { readOnly: true })
    const { findings, isReadable } = await checkStore(db, config.databaseUrl, systemClock)
    return [...findings, ...(await work(isReadable ? db : null))]
  } catch (error) {
    return [storeUnreachable(error), ...(await work(null))]
  } finally {
    await db?.close()
  }
}

async function examinePasskeys(db: Db | null, config: Config): Promise<Finding[]> {
  const { passkeys: enabled, passkeyId: rpId, publicUrl } = config
  return checkPasskeys({
    enabled,
    publicUrl,
    rpId,
    staffMustUse: config.staffPasskey === 'required',
    counts: db && (await passkeyCounts(db)),
    adminHasOne: db !== null && (await adminHasPasskey(db, rpId)),
  })
}

async function examineApplications(db: Db, { production, webhookAllow: allow }: Config): Promise<Finding[]> {
  const clients = new Clients({ db, clock: systemClock, production, allow })
  return checkApplications(await clients.list(), production)
}

async function examineSchoolAccounts(db: Db | null, config: Config): Promise<Finding[]> {
  if (!db) return []
  const methods = openMethodsOf(config)
  const { publicUrl } = config
  const fetch = guardedFetch(providerRangesOf(config), userAgent())
  const openId = new OpenId({ clock: systemClock, fetch, redirectUri: redirectUriOf(publicUrl) })
  const secrets = secretsFrom(config.secret, config.secretPrevious)
  const providers = new Providers({ db, clock: systemClock, secrets, openId, publicUrl, methods })
  const { staff } = methods
  return checkSchoolAccounts({
    methods,
    providers: await Promise.all(
      (await providers.list()).map(async ({ providerId, name, enabled, roles }) => ({
        ...{ name, enabled, roles },
        steps: enabled ? (await providers.test(providerId)).steps : [],
      })),
    ),
    adminHasOther:
      (staff.includes('passkey') && (await adminHasPasskey(db, config.passkeyId))) ||
      (staff.includes('school') && (await adminHasLink(db))),
  })
}

async function examineStore(
  db: Db | null,
  config: Config,
  unit: string,
  outside: string | null,
): Promise<Finding[]> {
  const { host, port, publicUrl } = config
  const url = outside ?? (isLoopbackHost(new URL(publicUrl).hostname) ? null : publicUrl)
  const seenFrom = async (inside: Inside | null) => [
    ...(await checkService({ host, port, unit, kids: inside?.kids ?? null })),
    ...(url === null ? [] : await checkOutside(url, publicUrl, inside, systemClock.now)),
  ]
  if (!db) return seenFrom(null)
  const now = systemClock.now()
  const figures = await readFigures(db, now)
  const keys = await keyRows(db)
  const { trustedProxies, limits } = config
  const secrets = secretsFrom(config.secret, config.secretPrevious)
  const inside = { db, secrets, kids: keys.map(({ kid }) => kid), trustedProxies, limits }
  return [
    checkKeys(
      keys,
      keys.map(({ kid, sealed }) => unseal(secrets, kid, sealed) !== null),
      now,
    ),
    checkBackup(figures.backup_at, now),
    checkWebhooks(await failingWebhooks(db), figures.webhooks_waiting),
    ...checkRoster(
      {
        importedAt: figures.roster_at,
        changedAt: figures.roster_published_at,
        checkedAt: figures.roster_checked_at,
        unfinished: await unfinishedImport(db, now),
        isFetched: config.rosterSource !== null,
        fetchedAt: figures.roster_fetch_at,
        outcome: figures.roster_fetch_outcome,
        fileAt: figures.roster_file_at,
        maxAgeDays: config.rosterMaxAgeDays,
      },
      now,
    ),
    ...(await examineOutbox(db, config, figures, now)),
    ...(await seenFrom(inside)),
  ]
}

/** While only first codes wait, they are the only lines. */
async function examineOutbox(
  db: Db,
  { mailDomains }: Config,
  { unsent, oldest_unsent_at: oldestAt }: Figures,
  now: number,
): Promise<Finding[]> {
  const late = await lateCodes(db, lateFirstCodes, now - day, domainsShown)
  const firstCodes = late.map(async (one) =>
    checkFirstCodes(one, mailDomains.includes(one.domain) || (await hasAccountAt(db, one.domain))),
  )
  const onlyFirstCodesWait = oldestAt === null && late.some(({ waiting }) => waiting > 0)
  return [
    ...(onlyFirstCodesWait ? [] : [checkOutbox(unsent, oldestAt, now)]),
    ...(await Promise.all(firstCodes)),
  ]
}

function dkimOf(env: Env): DkimSettings | null {
  const { CHIRON_DKIM_DOMAIN: domain, CHIRON_DKIM_SELECTOR: selector, CHIRON_DKIM_KEY_FILE: file } = env
  if (!domain || !selector) return null
  return { domain, selector, key: file && existsSync(file) ? readFileSync(file, 'utf8') : null }
}

function workersOf(env: Env): number {
  const config = configOr(env)
  return typeof config === 'string' ? 1 : config.workers
}

function outsideFrom(text: string): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageError('--from-outside must be a URL such as https://access.example.org')
  return url.origin
}

const marks = { good: 'good', warning: 'warning', bad: 'BAD' } as const

function print(findings: readonly Finding[], { json }: CommonOptions): void {
  if (json) return void printJson({ findings })
  const lines = findings.map(({ area, state, text, remedy }) => [
    marks[state],
    area,
    remedy === null ? text : `${text} → ${remedy}`,
  ])
  const count = (state: Finding['state']) => findings.filter((one) => one.state === state).length
  printText(`${table(lines)}\n\n${count('bad')} bad, ${count('warning')} warnings, ${count('good')} good`)
}
