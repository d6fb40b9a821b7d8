import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { invalidField } from '../../errors.ts'
import { Fields } from '../../identity/people/fields.ts'
import type { LiveSession } from '../../identity/session/session.ts'
import { CodeSent } from '../../identity/sign-in/schemas.ts'
import type { SignIn } from '../../identity/sign-in/sign-in.ts'
import { type ByOf, type CallerOf, ownChangeWithinMs, routeConfig } from '../../platform/http/access.ts'
import { requestCaller } from '../../platform/http/caller.ts'
import { etagOf, matches } from '../../platform/http/etag.ts'
import {
  bodyProblems,
  problems,
  provenChangeProblems,
  tokenProblems,
} from '../../platform/http/problem-schemas.ts'
import { Empty, Id, languageNames } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import type { CallerNetwork } from '../../platform/lib/bucket.ts'
import { timestamp } from '../../platform/lib/clock.ts'
import { chooseLanguage } from '../../platform/lib/languages.ts'
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

export interface VeterinarianRoutesDeps {
  readonly veterinarians: Veterinarians
  readonly signIn: Pick<SignIn, 'send' | 'resend' | 'confirm'>
  readonly callerOf: CallerOf<LiveSession>
  readonly byOf: ByOf
  networkOf(request: FastifyRequest): CallerNetwork
}

export function veterinarianRoutes(
  root: FastifyInstance,
  { veterinarians, signIn, callerOf, byOf, networkOf }: VeterinarianRoutesDeps,
): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['veterinarian']
  const own = routeConfig({ access: 'veterinarian' })
  const recent = routeConfig({ access: 'veterinarian', provedWithinMs: ownChangeWithinMs })

  app.post(
    '/veterinarian/register',
    {
      config: routeConfig({ access: 'public', limit: 'own' }),
      schema: {
        tags,
        operationId: 'registerVeterinarian',
        summary: 'Register',
        description:
          'Creates a pending veterinarian; the first sign-in activates it. The reply does not reveal whether the address is known. No mail is sent: ask for a code next.',
        security: [],
        body: Registration,
        response: {
          202: Registered,
          ...problems(...bodyProblems),
        },
      },
    },
    async (request, reply) => {
      const fields = new Fields()
      const names = {
        firstname: fields.name('firstname', request.body.firstname),
        lastname: fields.name('lastname', request.body.lastname),
      }
      const address = fields.email(request.body.email)
      fields.check()
      const { confirmBefore } = await veterinarians.register(
        address,
        names,
        requestCaller(networkOf(request), reply),
      )
      return reply.code(202).send({ email: request.body.email, confirmBefore: timestamp(confirmBefore) })
    },
  )

  app.get(
    '/veterinarian/me',
    {
      config: own,
      schema: {
        tags,
        operationId: 'getOwnVeterinarian',
        summary: 'My profile',
        response: { 200: OwnProfile, ...problems(...tokenProblems, 'forbidden') },
      },
    },
    (request) => veterinarians.profileOf(callerOf(request, 'veterinarian')),
  )

  app.patch(
    '/veterinarian/me',
    {
      config: routeConfig({ access: 'veterinarian', scope: 'account' }),
      schema: {
        tags,
        operationId: 'renameOwnVeterinarian',
        summary: 'Change my name',
        description:
          'An application gets only the fields that its scopes read: `x-scope` is the scope of each. Fields without it are for the school’s own front ends.',
        body: NameChange,
        response: {
          200: OwnProfile,
          ...problems(...bodyProblems, ...tokenProblems, 'forbidden'),
        },
      },
    },
    async (request) => {
      const { firstname: first, lastname: last } = request.body
      if (first === undefined && last === undefined)
        throw invalidField({ pointer: '#', detail: 'must have firstname or lastname' })
      const fields = new Fields()
      const names = {
        ...(first !== undefined && { firstname: fields.name('firstname', first) }),
        ...(last !== undefined && { lastname: fields.name('lastname', last) }),
      }
      fields.check()
      return veterinarians.profileOf(
        await veterinarians.rename(callerOf(request, 'veterinarian'), names, byOf(request)),
      )
    },
  )

  app.get(
    '/veterinarian/me/classes',
    {
      config: routeConfig({ access: 'veterinarian', scope: 'classes' }),
      schema: {
        tags,
        operationId: 'listTaughtClasses',
        summary: 'The classes that I teach, and who is in them',
        description:
          'The classes of the teacher on the school’s roster with my e-mail address, or with the one that I had before I changed it. `when` as in GET /student/me/classes.',
        querystring: WhenQuery,
        response: {
          200: TaughtClassList,
          204: Empty,
          ...problems('invalid-request', ...tokenProblems, 'forbidden'),
        },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request, 'veterinarian')
      const classes = await veterinarians.classes(caller, request.query.when ?? 'current')
      return classes.length === 0 ? reply.code(204).send() : { classes }
    },
  )

  app.delete(
    '/veterinarian/me',
    {
      config: recent,
      schema: {
        tags,
        operationId: 'closeOwnVeterinarian',
        summary: 'Close my account',
        description: 'Ends every session and erases personal data. Needs a sign-in at most 10 minutes old.',
        response: {
          204: Empty,
          ...problems(...provenChangeProblems),
        },
      },
    },
    async (request, reply) => {
      await veterinarians.close(callerOf(request, 'veterinarian'), byOf(request))
      return reply.code(204).send()
    },
  )

  app.post(
    '/veterinarian/me/email',
    {
      config: recent,
      schema: {
        tags,
        operationId: 'sendNewAddressCode',
        summary: 'Ask for a code at my new address',
        description: `Mails a code to the new address; with \`sessionId\`, the same code again. The reply does not reveal whether somebody else has the address; in that case the mail says so, and no code works. Needs a sign-in at most 10 minutes old. The language of the mail follows Accept-Language: ${languageNames}.`,
        body: NewAddressRequest,
        response: {
          202: CodeSent,
          ...problems(
            ...bodyProblems,
            ...tokenProblems,
            'otp-unusable',
            'forbidden',
            'recent-sign-in-required',
          ),
        },
      },
    },
    async (request, reply) => {
      const person = callerOf(request, 'veterinarian')
      const fields = new Fields()
      const address = fields.email(request.body.email)
      if (address.key === person.email_key) fields.refuse('email', 'is already your address')
      fields.check()
      const language = chooseLanguage(request.headers['accept-language'])
      const asker = { personId: person.id, sessionId: null }
      const ask = { address, language, asker }
      const caller = requestCaller(networkOf(request), reply)
      const { sessionId } = request.body
      const sent =
        sessionId === undefined ? await signIn.send(ask, caller) : await signIn.resend(ask, caller, sessionId)
      return reply.code(202).send(sent)
    },
  )

  app.post(
    '/veterinarian/me/email/confirm',
    {
      config: own,
      schema: {
        tags,
        operationId: 'confirmNewAddress',
        summary: 'Confirm my new address with its code',
        description:
          'The address changes, every other session ends, and the old address is notified by mail. Wrong codes are handled as in validate-otp.',
        body: NewAddressAnswer,
        response: {
          200: OwnProfile,
          ...problems(...bodyProblems, ...tokenProblems, 'otp-incorrect', 'otp-unusable', 'forbidden'),
        },
      },
    },
    async (request, reply) => {
      const person = callerOf(request, 'veterinarian')
      const { otp_code: code, sessionId } = request.body
      const how = { by: byOf(request), language: chooseLanguage(request.headers['accept-language']) }
      const moved = await signIn.confirm(
        { asker: { personId: person.id, sessionId: null }, code, sessionId },
        requestCaller(networkOf(request), reply),
        (address) => veterinarians.move(person, address, how),
      )
      return veterinarians.profileOf(moved)
    },
  )

  app.get(
    '/veterinarian/me/public-page',
    {
      config: own,
      schema: {
        tags,
        operationId: 'getOwnPublicPage',
        summary: 'Whether my public page is visible',
        response: { 200: PublicPage, ...problems(...tokenProblems, 'forbidden') },
      },
    },
    async (request) => ({ shown: await veterinarians.showsPublicPage(callerOf(request, 'veterinarian')) }),
  )

  app.patch(
    '/veterinarian/me/public-page',
    {
      config: own,
      schema: {
        tags,
        operationId: 'showOwnPublicPage',
        summary: 'Show or hide my public page',
        description: 'While it is hidden, GET /veterinarian/{userId} and the page itself are 404.',
        body: PublicPage,
        response: { 200: PublicPage, ...problems(...bodyProblems, ...tokenProblems, 'forbidden') },
      },
    },
    async (request) => {
      const { shown } = request.body
      await veterinarians.showPublicPage(callerOf(request, 'veterinarian'), shown, byOf(request))
      return { shown }
    },
  )

  app.get(
    '/veterinarian/me/export',
    {
      config: own,
      schema: {
        tags,
        operationId: 'exportOwnVeterinarian',
        summary: 'Everything held about me',
        response: { 200: VeterinarianExport, ...problems(...tokenProblems, 'forbidden') },
      },
    },
    async (request, reply) => {
      reply.header('Content-Disposition', 'attachment; filename="chiron-export.json"')
      return veterinarians.export(callerOf(request, 'veterinarian'))
    },
  )

  app.get(
    '/veterinarian/:userId',
    {
      config: routeConfig({ access: 'public' }),
      schema: {
        tags,
        operationId: 'getVeterinarian',
        summary: 'A veterinarian’s public profile',
        description:
          'Only active veterinarians who do not hide their page. May be cached for a minute; answers 304 to a matching If-None-Match.',
        security: [],
        params: Type.Object({ userId: Id('The veterinarian’s id.') }),
        response: {
          200: PublicProfile,
          304: Empty,
          ...problems('not-found'),
        },
      },
    },
    async (request, reply) => {
      const profile = await veterinarians.publicProfile(request.params.userId)
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
  )
}
