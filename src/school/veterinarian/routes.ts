import { invalidField } from '../../errors.ts'
import { Fields } from '../../identity/people/fields.ts'
import { operation } from '../../identity/session/operation.ts'
import { CodeSent } from '../../identity/sign-in/schemas.ts'
import type { SignIn } from '../../identity/sign-in/sign-in.ts'
import { ownChangeWithinMs } from '../../platform/http/access.ts'
import { etagOf, matches } from '../../platform/http/etag.ts'
import { Id, languageNames } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { timestamp } from '../../platform/lib/clock.ts'
import { TaughtClassList, WhenQuery } from '../student/schemas.ts'
import {
  NameChange,
  NewAddressAnswer,
  NewAddressRequest,
  OwnProfile,
  PublicPage,
  PublicProfile,
  Registered,
  Registration,
  VeterinarianExport,
} from './schemas.ts'
import type { Veterinarians } from './veterinarian.ts'

const own = { access: 'veterinarian', tag: 'veterinarian' } as const
const recent = { ...own, provedWithinMs: ownChangeWithinMs } as const

type AddressSignIn = Pick<SignIn, 'send' | 'resend' | 'confirm'>

export const veterinarianRoutes = (veterinarians: Veterinarians, signIn: AddressSignIn) => [
  registering(veterinarians),
  ...ownProfile(veterinarians),
  ...ownAddress(veterinarians, signIn),
  ...ownPublicPage(veterinarians),
  publicProfile(veterinarians),
]

const registering = (veterinarians: Veterinarians) =>
  operation('POST /veterinarian/register', {
    access: 'public',
    limit: 'own',
    tag: 'veterinarian',
    id: 'registerVeterinarian',
    summary: 'Register',
    description:
      'Creates a pending veterinarian; the first sign-in activates it. The reply does not reveal whether the address is known. No mail is sent: ask for a code next.',
    body: Registration,
    status: 202,
    reply: Registered,
    answer: async ({ body, sender }) => {
      const fields = new Fields()
      const names = {
        firstname: fields.name('firstname', body.firstname),
        lastname: fields.name('lastname', body.lastname),
      }
      const address = fields.email(body.email)
      fields.check()
      const { confirmBefore } = await veterinarians.register(address, names, sender)
      return { email: body.email, confirmBefore: timestamp(confirmBefore) }
    },
  })

const ownProfile = (veterinarians: Veterinarians) => [
  operation('GET /veterinarian/me', {
    ...own,
    id: 'getOwnVeterinarian',
    summary: 'My profile',
    reply: OwnProfile,
    answer: ({ caller }) => veterinarians.profileOf(caller),
  }),

  operation('PATCH /veterinarian/me', {
    ...own,
    scope: 'account',
    id: 'renameOwnVeterinarian',
    summary: 'Change my name',
    description:
      'An application gets only the fields that its scopes read: `x-scope` is the scope of each. Fields without it are for the school’s own front ends.',
    body: NameChange,
    reply: OwnProfile,
    answer: async ({ caller, body, by }) => {
      const { firstname: first, lastname: last } = body
      if (first === undefined && last === undefined)
        throw invalidField({ pointer: '#', detail: 'must have firstname or lastname' })
      const fields = new Fields()
      const names = {
        ...(first !== undefined && { firstname: fields.name('firstname', first) }),
        ...(last !== undefined && { lastname: fields.name('lastname', last) }),
      }
      fields.check()
      return veterinarians.profileOf(await veterinarians.rename(caller, names, by))
    },
  }),

  operation('GET /veterinarian/me/classes', {
    ...own,
    scope: 'classes',
    id: 'listTaughtClasses',
    summary: 'The classes that I teach, and who is in them',
    description:
      'The classes of the teacher on the school’s roster with my e-mail address, or with the one that I had before I changed it. `when` as in GET /student/me/classes.',
    query: WhenQuery,
    reply: TaughtClassList,
    orEmpty: 204,
    answer: async ({ reply, caller, query }) => {
      const classes = await veterinarians.classes(caller, query.when ?? 'current')
      return classes.length === 0 ? reply.code(204).send() : { classes }
    },
  }),

  operation('DELETE /veterinarian/me', {
    ...recent,
    id: 'closeOwnVeterinarian',
    summary: 'Close my account',
    description: 'Ends every session and erases personal data. Needs a sign-in at most 10 minutes old.',
    answer: ({ caller, by }) => veterinarians.close(caller, by),
  }),
]

const ownAddress = (veterinarians: Veterinarians, signIn: AddressSignIn) => [
  operation('POST /veterinarian/me/email', {
    ...recent,
    id: 'sendNewAddressCode',
    summary: 'Ask for a code at my new address',
    description: `Mails a code to the new address; with \`sessionId\`, the same code again. The reply does not reveal whether somebody else has the address; in that case the mail says so, and no code works. Needs a sign-in at most 10 minutes old. The language of the mail follows Accept-Language: ${languageNames}.`,
    body: NewAddressRequest,
    status: 202,
    reply: CodeSent,
    refuses: ['otp-unusable'],
    answer({ caller: person, body, sender, language }) {
      const fields = new Fields()
      const address = fields.email(body.email)
      if (address.key === person.email_key) fields.refuse('email', 'is already your address')
      fields.check()
      const ask = { address, language, asker: { personId: person.id, sessionId: null } }
      const { sessionId } = body
      return sessionId === undefined ? signIn.send(ask, sender) : signIn.resend(ask, sender, sessionId)
    },
  }),

  operation('POST /veterinarian/me/email/confirm', {
    ...own,
    id: 'confirmNewAddress',
    summary: 'Confirm my new address with its code',
    description:
      'The address changes, every other session ends, and the old address is notified by mail. Wrong codes are handled as in validate-otp.',
    body: NewAddressAnswer,
    reply: OwnProfile,
    refuses: ['otp-incorrect', 'otp-unusable'],
    async answer({ caller: person, body: { otp_code: code, sessionId }, by, sender, language }) {
      const asker = { personId: person.id, sessionId: null }
      const moved = await signIn.confirm({ asker, code, sessionId }, sender, (address) =>
        veterinarians.move(person, address, { by, language }),
      )
      return veterinarians.profileOf(moved)
    },
  }),
]

const ownPublicPage = (veterinarians: Veterinarians) => [
  operation('GET /veterinarian/me/public-page', {
    ...own,
    id: 'getOwnPublicPage',
    summary: 'Whether my public page is visible',
    reply: PublicPage,
    answer: async ({ caller }) => ({ shown: await veterinarians.showsPublicPage(caller) }),
  }),

  operation('PATCH /veterinarian/me/public-page', {
    ...own,
    id: 'showOwnPublicPage',
    summary: 'Show or hide my public page',
    description: 'While it is hidden, GET /veterinarian/{userId} and the page itself are 404.',
    body: PublicPage,
    reply: PublicPage,
    answer: async ({ caller, body, by }) => {
      const { shown } = body
      await veterinarians.showPublicPage(caller, shown, by)
      return { shown }
    },
  }),

  operation('GET /veterinarian/me/export', {
    ...own,
    id: 'exportOwnVeterinarian',
    summary: 'Everything held about me',
    reply: VeterinarianExport,
    answer: async ({ reply, caller }) => {
      reply.header('Content-Disposition', 'attachment; filename="chiron-export.json"')
      return veterinarians.export(caller)
    },
  }),
]

const publicProfile = (veterinarians: Veterinarians) =>
  operation('GET /veterinarian/:userId', {
    access: 'public',
    tag: 'veterinarian',
    id: 'getVeterinarian',
    summary: 'A veterinarian’s public profile',
    description:
      'Only active veterinarians who do not hide their page. May be cached for a minute; answers 304 to a matching If-None-Match.',
    params: Type.Object({ userId: Id('The veterinarian’s id.') }),
    reply: PublicProfile,
    orEmpty: 304,
    refuses: ['not-found'],
    answer: async ({ request, reply, params }) => {
      const profile = await veterinarians.publicProfile(params.userId)
      const shown = {
        userId: profile.id,
        firstname: profile.firstname,
        lastname: profile.lastname,
        verified: profile.verified_at !== null,
      }
      const etag = etagOf(JSON.stringify(shown))
      reply.headers({ 'Cache-Control': 'public, max-age=60', ETag: etag })
      if (matches(request.headers['if-none-match'], etag)) return reply.code(304).send()
      return shown
    },
  })
