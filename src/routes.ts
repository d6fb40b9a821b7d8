/** Every call that the service answers, in the order of the API's document. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import { ownId } from './features.ts'
import { personScopes, serviceScopes } from './identity/clients/clients.ts'
import { clientRoutes } from './identity/clients/routes.ts'
import { prompts, responseModes } from './identity/oauth/authorize.ts'
import { authorizeRoutes } from './identity/oauth/authorize-routes.ts'
import { acrValues, claimNames } from './identity/oauth/claims.ts'
import { consentRoutes } from './identity/oauth/consent-routes.ts'
import { logoutRoutes } from './identity/oauth/logout-routes.ts'
import { oauthRoutes } from './identity/oauth/routes.ts'
import type { Passkeys } from './identity/passkeys/passkeys.ts'
import { passkeyRoutes } from './identity/passkeys/routes.ts'
import { stepUpByCodeRoutes, stepUpByPasskeyRoutes } from './identity/passkeys/step-up-routes.ts'
import { namesOf } from './identity/people/people.ts'
import { providerRoutes } from './identity/school-account/provider-routes.ts'
import { schoolAccountRoutes } from './identity/school-account/routes.ts'
import type { SchoolAccounts } from './identity/school-account/school-account.ts'
import { portalSessionRoutes, refreshRoute, sessionRoutes } from './identity/session/routes.ts'
import { wellKnownRoutes } from './identity/session/well-known.ts'
import { signInRoutes } from './identity/sign-in/routes.ts'
import { staffRoutes } from './identity/staff/routes.ts'
import { StaffProfile } from './identity/staff/schemas.ts'
import { deliveryRoutes } from './messages/delivery/routes.ts'
import { readFeed } from './messages/events/events.ts'
import { eventRoutes } from './messages/events/routes.ts'
import { mailboxRoutes } from './messages/mail/mailbox.ts'
import { addressOf } from './messages/mail/mime.ts'
import { sendTestMail } from './messages/mail/test-mail.ts'
import { webhookRoutes } from './messages/webhooks/routes.ts'
import { supportRoutes } from './operate/support/routes.ts'
import type { WriteProbe } from './platform/db/write-probe.ts'
import { healthRoutes } from './platform/http/health.ts'
import { openApiRoutes } from './platform/http/openapi.ts'
import type { Operation } from './platform/http/operation.ts'
import { pageRoutes } from './platform/http/pages.ts'
import type { PortalCookie } from './platform/http/portal.ts'
import { Type } from './platform/http/type.ts'
import { type Role, roles } from './roles.ts'
import { directoryRoutes } from './school/directory/routes.ts'
import { uploadRoutes } from './school/roster/upload/routes.ts'
import { plainRoutes } from './school/site/plain-routes.ts'
import { webRoutes } from './school/site/web-routes.ts'
import { calendarRoutes } from './school/student/calendar-routes.ts'
import { cardRoutes } from './school/student/card-routes.ts'
import { studentRoutes } from './school/student/routes.ts'
import { StudentProfile } from './school/student/schemas.ts'
import { veterinarianRoutes } from './school/veterinarian/routes.ts'
import { OwnProfile } from './school/veterinarian/schemas.ts'
import type { Service } from './service.ts'

/** The service and the server that the routes are added to. */
interface Served extends Service {
  readonly app: FastifyInstance
  readonly portal: PortalCookie
  /** Counts a refused call against its network. */
  readonly countRefusal: (request: FastifyRequest, reply: FastifyReply) => void
  readonly writeProbe: WriteProbe
}

const Profiles: Record<Role, TSchema> = {
  veterinarian: OwnProfile,
  student: StudentProfile,
  staff: StaffProfile,
}

/** The profile of any role. */
const Profile = Type.Union(
  roles.map((role) => Profiles[role]),
  { title: 'Profile' },
)

export function routesOf(served: Served): Operation[] {
  return [
    ...routesOfPeople(served),
    ...routesOfSessions(served),
    ...routesOfStaff(served),
    ...routesOfPrograms(served),
    ...routesOfPages(served),
  ]
}

/** What people of each role do with their accounts, signing in with a code among it. */
function routesOfPeople(served: Served): Operation[] {
  const { veterinarians, students, calendarFeeds, publicUrl, portal, signIn, methods, metrics } = served
  const signingIn = (role: Role) => {
    const steps = metrics?.watchSignIn(role, signIn[role]) ?? signIn[role]
    const isOpen = methods[role].includes('code')
    return signInRoutes({ role, signIn: steps, Profile: Profiles[role], isOpen, portal })
  }
  return [
    ...veterinarianRoutes(veterinarians, signIn.veterinarian),
    ...roles.flatMap(signingIn),
    ...studentRoutes(students),
    ...calendarRoutes(calendarFeeds, publicUrl),
    ...cardRoutes(served),
  ]
}

/** Sessions, and the other ways to start one. */
function routesOfSessions(served: Served): Operation[] {
  const { db, clock, limits, config, sessions, portal } = served
  const { passkeys, providers, schoolAccounts, stepUpByCode, metrics } = served
  const validate: Passkeys['validate'] =
    metrics?.watchPasskeys(passkeys) ?? ((...answer) => passkeys.validate(...answer))
  const answer: SchoolAccounts['answer'] =
    metrics?.watchSchoolAccounts(schoolAccounts) ?? ((...given) => schoolAccounts.answer(...given))
  const auth = { db, clock, limits }
  return [
    refreshRoute(sessions, Profile),
    ...sessionRoutes(sessions),
    ...oauthRoutes({ ...served, auth, ownId, Profile }),
    ...(config.passkeys ? passkeyRoutes({ ...served, validate, Profile }) : []),
    ...schoolAccountRoutes({ ...served, accounts: schoolAccounts, answer }),
    ...providerRoutes(providers, schoolAccounts),
    ...(config.passkeys ? stepUpByPasskeyRoutes(passkeys) : []),
    ...stepUpByCodeRoutes(stepUpByCode, portal),
    ...portalSessionRoutes(sessions, portal, Profile),
  ]
}

/** The console's calls, and those of services. */
function routesOfStaff(served: Served): Operation[] {
  const { db, clock, publicUrl, config, transport } = served
  const testMail = (to: string) => {
    const mail = { to, from: config.mailFrom, publicUrl, sentBy: 'you, in the console', now: clock.now() }
    return sendTestMail(transport, mail)
  }
  return [
    ...staffRoutes(served.staff),
    ...eventRoutes({
      readFeed: (filter) => readFeed(db, filter),
      namesOf: (userIds) => namesOf(db, userIds),
    }),
    ...supportRoutes({ ...served, testMail }),
    ...deliveryRoutes(served),
    ...webhookRoutes(served.webhooks),
    ...directoryRoutes(served.directory),
    ...clientRoutes(served.clients),
    ...uploadRoutes(served.uploads),
  ]
}

/** What programs read about the service. */
function routesOfPrograms({ app, db, clock, keys, publicUrl, config, writeProbe }: Served): Operation[] {
  const scopes = [...personScopes, ...serviceScopes]
  return [
    ...wellKnownRoutes(keys, publicUrl, {
      ...{ scopes, responseModes, prompts, acrValues },
      claims: claimNames,
    }),
    ...healthRoutes([
      ['The store is unreachable.', () => db.one('select 1 as ready')],
      ['The store does not take writes.', () => writeProbe.check()],
      ['The secret of the service does not fit its store.', () => keys.signer()],
    ]),
    ...openApiRoutes(app),
    ...pageRoutes(),
    ...plainRoutes({ publicUrl, clock, mailDomain: addressOf(config.mailFrom).split('@')[1]! }),
  ]
}

/** The portal and the console, and where applications send people. */
function routesOfPages(served: Served): Operation[] {
  const { config, hasMailbox } = served
  const { pages, sendPrivatePage } = webRoutes({
    ...served,
    mailbox: hasMailbox,
    publicProfile: (userId) => served.veterinarians.publicProfile(userId),
    passkeys: config.passkeys ? config.staffPasskey : null,
  })
  return [
    ...pages,
    ...authorizeRoutes({ ...served, sendPrivatePage }),
    ...logoutRoutes(served.logout, { ...served, sendPrivatePage }),
    ...consentRoutes(served.consents),
    ...(hasMailbox ? mailboxRoutes(served.outbox) : []),
  ]
}
