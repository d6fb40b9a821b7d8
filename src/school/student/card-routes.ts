/** The student's card, and the page behind it. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { LiveSession } from '../../identity/session/session.ts'
import { type CallerOf, routeConfig } from '../../platform/http/access.ts'
import { pageContentPolicy } from '../../platform/http/headers.ts'
import { html } from '../../platform/http/pages.ts'
import { problems, tokenProblems } from '../../platform/http/problem-schemas.ts'
import type { Branding } from '../../platform/lib/branding.ts'
import { type Clock, timestamp } from '../../platform/lib/clock.ts'
import { chooseLanguage } from '../../platform/lib/languages.ts'
import type { Cards } from './card.ts'
import { cardPage } from './card-page.ts'
import { StudentCard } from './schemas.ts'

export interface CardRoutesDeps {
  readonly cards: Cards
  readonly clock: Clock
  readonly timeZone: string
  readonly branding: Branding
  readonly callerOf: CallerOf<LiveSession>
}

export function cardRoutes(
  root: FastifyInstance,
  { cards, clock, timeZone, branding, callerOf }: CardRoutesDeps,
): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()

  app.get(
    '/student/me/card',
    {
      config: routeConfig({ access: 'student' }),
      schema: {
        tags: ['student'],
        operationId: 'makeStudentCard',
        summary: 'My card',
        description:
          'Proves for five minutes that I am a student. Show `url` as a QR code: the page behind it says whether the card is genuine and valid, and whether I am currently a student. It is not a credential.',
        response: {
          200: StudentCard,
          ...problems(...tokenProblems, 'forbidden'),
        },
      },
    },
    async (request) => {
      const { card, url, expiresAt } = await cards.make(callerOf(request))
      return { card, url, expiresAt: timestamp(expiresAt) }
    },
  )

  // A wildcard, so that anything else in place of a card gets this page too.
  app.get(
    '/c/*',
    { config: routeConfig({ access: 'public' }), schema: { hide: true } },
    async (request, reply) => {
      const { '*': card } = request.params as { '*': string }
      const verdict = await cards.check(card)
      const language = chooseLanguage(request.headers['accept-language'])
      const page = cardPage(verdict, { language, timeZone, now: clock.now() })
      return reply
        .code(verdict.state === 'none' ? 404 : 200)
        .headers({ 'Content-Security-Policy': pageContentPolicy, 'X-Robots-Tag': 'noindex' })
        .type('text/html; charset=utf-8')
        .send(html({ ...page, language, branding }))
    },
  )
}
