/** The features without the HTTP server: what the service and the commands both need. */
import { type Config, openMethodsOf, passkeyOriginsOf, providerRangesOf, rosterSettingsOf } from './config.ts'
import { Clients } from './identity/clients/clients.ts'
import { Limits } from './identity/limits/limits.ts'
import { Passkeys } from './identity/passkeys/passkeys.ts'
import type { Roles } from './identity/people/people.ts'
import {
  guardedFetch,
  OpenId,
  Providers,
  redirectUriOf,
  SchoolAccounts,
} from './identity/school-account/school-account.ts'
import { SigningKeys } from './identity/session/keys.ts'
import { accessTtlMs, Sessions } from './identity/session/session.ts'
import { Staff } from './identity/staff/staff.ts'
import { Deliveries } from './messages/delivery/delivery.ts'
import { Webhooks } from './messages/webhooks/webhooks.ts'
import { Support } from './operate/support/support.ts'
import type { Db } from './platform/db/db.ts'
import { migrate } from './platform/db/migrate.ts'
import { openDb } from './platform/db/open.ts'
import { brandOf } from './platform/lib/branding.ts'
import { type Clock, day, systemClock } from './platform/lib/clock.ts'
import type { FailureLog } from './platform/lib/failure.ts'
import { secretsFrom } from './platform/lib/secret.ts'
import { Roster } from './school/roster/roster.ts'
import { Students } from './school/student/student.ts'
import { Veterinarians } from './school/veterinarian/veterinarian.ts'
import { userAgent } from './version.ts'

/** The `client_id` of the portal and of the school's own front ends. */
export const ownId = 'chiron'

export type Features = Awaited<ReturnType<typeof openFeatures>>

/** Opens and migrates the store; `tell` gets a line about it. The caller closes `db`. */
export async function openFeatures(
  config: Config,
  {
    clock = systemClock,
    tell,
    watch = (db) => db,
    log = { warn() {} },
  }: {
    clock?: Clock
    tell?: (line: string) => void
    /** Puts metrics and traces around the store. */
    watch?: (db: Db) => Db
    log?: Pick<FailureLog, 'warn'>
  } = {},
) {
  const { publicUrl } = config
  const db = watch(openDb(config.databaseUrl))
  await migrate(db, clock, tell)
  const secrets = secretsFrom(config.secret, config.secretPrevious)
  const methods = openMethodsOf(config)
  const limits = new Limits(db, config.limits, log)
  const keys = new SigningKeys({ db, clock, secrets }, accessTtlMs)
  const students = new Students({ db, clock, timeZone: config.timeZone })
  const veterinarians = new Veterinarians({ db, clock, secrets, limits, students })
  const staff = new Staff({ db, clock })
  const roles: Roles = { veterinarian: veterinarians, student: students, staff }
  const issuer = { issuer: publicUrl, audience: publicUrl, clientId: ownId }
  const sessions = new Sessions({
    db,
    clock,
    secrets,
    limits,
    keys,
    issuer,
    roles,
    keepEndedMs: config.keepSessionsDays * day,
  })
  const passkeys = new Passkeys({
    db,
    clock,
    secrets,
    limits,
    sessions,
    relyingParty: {
      id: config.passkeyId,
      name: brandOf(config.school),
      origins: passkeyOriginsOf(config),
    },
    methods,
    staffMustUse: config.staffPasskey === 'required',
  })
  const fetch = guardedFetch(providerRangesOf(config), userAgent())
  const openId = new OpenId({ clock, fetch, redirectUri: redirectUriOf(publicUrl) })
  const providers = new Providers({ db, clock, secrets, openId, publicUrl, methods })
  const schoolAccounts = new SchoolAccounts({
    ...{ db, clock, secrets, limits, sessions, roles, providers, openId, methods, log },
    keepRefusalsMs: config.keepMailDays * day,
  })
  const support = new Support({ db, clock, sessions, veterinarians, students, schoolAccounts })
  const deliveries = new Deliveries({ db, clock, secrets, keepMs: config.keepMailDays * day })
  const roster = new Roster(db, clock, { ...rosterSettingsOf(config), secrets })
  const webhooks = new Webhooks({
    db,
    clock,
    secrets,
    allow: config.webhookAllow,
    userAgent: userAgent(),
  })
  const clients = new Clients({ db, clock, production: config.production, allow: config.webhookAllow })
  return {
    db,
    clock,
    secrets,
    limits,
    keys,
    veterinarians,
    students,
    staff,
    roles,
    sessions,
    methods,
    passkeys,
    providers,
    schoolAccounts,
    support,
    deliveries,
    roster,
    webhooks,
    clients,
  }
}
