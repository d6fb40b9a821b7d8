/** The features over an open store. Commands use them as they are; service.ts adds what works in the background. */
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
import type { Context } from './platform/context.ts'
import type { Db } from './platform/db/db.ts'
import { migrate } from './platform/db/migrate.ts'
import { openDb } from './platform/db/open.ts'
import { brandOf } from './platform/lib/branding.ts'
import { type Clock, day, systemClock } from './platform/lib/clock.ts'
import type { FailureLog } from './platform/lib/failure.ts'
import { secretsFrom } from './platform/lib/secret.ts'
import { Directory } from './school/directory/directory.ts'
import { Roster } from './school/roster/roster.ts'
import { Cards } from './school/student/card.ts'
import { CalendarFeeds } from './school/student/feed.ts'
import { Students } from './school/student/student.ts'
import { Veterinarians } from './school/veterinarian/veterinarian.ts'
import { userAgent } from './version.ts'

/** The `client_id` of the portal and of the school's own front ends. */
export const ownId = 'chiron'

export type Features = Awaited<ReturnType<typeof openFeatures>>
type Base = Awaited<ReturnType<typeof openBase>>
type People = ReturnType<typeof openPeople>

interface Options {
  readonly clock?: Clock
  /** Gets a line about the store. */
  readonly tell?: (line: string) => void
  /** Puts metrics and traces around the store. */
  readonly watch?: (db: Db) => Db
  /** None for commands, which print what they do. */
  readonly log?: FailureLog
}

/** Opens and migrates the store, which the caller closes. */
export async function openFeatures(config: Config, options: Options = {}) {
  const base = await openBase(config, options)
  const people = openPeople(base)
  const signIns = openSignIns(config, { ...base, ...people })
  return {
    ...base,
    ...people,
    ...signIns,
    ...openMessages(config, base),
    ...openSchool(config, { ...base, ...people }),
    support: new Support({ ...base, ...people, ...signIns }),
  }
}

async function openBase(config: Config, options: Options) {
  const { clock = systemClock, tell, watch = (db) => db, log = { info() {}, warn() {} } } = options
  const db = watch(openDb(config.databaseUrl))
  await migrate(db, clock, tell)
  const context: Context = {
    db,
    clock,
    secrets: secretsFrom(config.secret, config.secretPrevious),
    log,
    publicUrl: config.publicUrl,
    timeZone: config.timeZone,
    branding: config.school,
    allow: config.webhookAllow,
    userAgent: userAgent(),
  }
  return { ...context, limits: new Limits(db, config.limits, log), methods: openMethodsOf(config) }
}

function openPeople(base: Base) {
  const students = new Students(base)
  const veterinarians = new Veterinarians({ ...base, students })
  const staff = new Staff(base)
  const roles: Roles = { veterinarian: veterinarians, student: students, staff }
  return { students, veterinarians, staff, roles }
}

/** The ways to sign in, and the sessions that they start. */
function openSignIns(config: Config, base: Base & People) {
  const { publicUrl, clock } = base
  const keys = new SigningKeys(base, accessTtlMs)
  const sessions = new Sessions({
    ...base,
    keys,
    issuer: { issuer: publicUrl, audience: publicUrl, clientId: ownId },
    keepEndedMs: config.keepSessionsDays * day,
  })
  const passkeys = new Passkeys({
    ...base,
    sessions,
    relyingParty: {
      id: config.passkeyId,
      name: brandOf(base.branding),
      origins: passkeyOriginsOf(config),
    },
    staffMustUse: config.staffPasskey === 'required',
  })
  const fetch = guardedFetch(providerRangesOf(config), base.userAgent)
  const openId = new OpenId({ clock, fetch, redirectUri: redirectUriOf(publicUrl) })
  const providers = new Providers({ ...base, openId })
  const schoolAccounts = new SchoolAccounts({
    ...base,
    ...{ sessions, providers, openId },
    keepRefusalsMs: config.keepMailDays * day,
  })
  const clients = new Clients({ ...base, production: config.production })
  return { keys, sessions, passkeys, providers, schoolAccounts, clients }
}

function openMessages(config: Config, base: Base) {
  return {
    deliveries: new Deliveries({ ...base, keepMs: config.keepMailDays * day }),
    webhooks: new Webhooks(base),
  }
}

function openSchool(config: Config, base: Base & People) {
  const { db, clock, secrets } = base
  return {
    roster: new Roster(db, clock, { ...rosterSettingsOf(config), secrets }),
    directory: new Directory(base),
    cards: new Cards(base),
    calendarFeeds: new CalendarFeeds(base),
  }
}
