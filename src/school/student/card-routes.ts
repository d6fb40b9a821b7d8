/** The student's card, and the page behind it. */
import { operation } from '../../identity/session/operation.ts'
import type { Context } from '../../platform/context.ts'
import { pageContentPolicy } from '../../platform/http/headers.ts'
import { page } from '../../platform/http/operation.ts'
import { html } from '../../platform/http/pages.ts'
import { timestamp } from '../../platform/lib/clock.ts'
import type { Cards } from './card.ts'
import { cardPage } from './card-page.ts'
import { StudentCard } from './schemas.ts'

interface Deps extends Pick<Context, 'clock' | 'timeZone' | 'branding'> {
  readonly cards: Cards
}

export const cardRoutes = ({ cards, clock, timeZone, branding }: Deps) => [
  operation('GET /student/me/card', {
    access: 'student',
    tag: 'student',
    id: 'makeStudentCard',
    summary: 'My card',
    description:
      'Proves for five minutes that I am a student. Show `url` as a QR code: the page behind it says whether the card is genuine and valid, and whether I am currently a student. It is not a credential.',
    reply: StudentCard,
    async answer({ caller }) {
      const { card, url, expiresAt } = await cards.make(caller)
      return { card, url, expiresAt: timestamp(expiresAt) }
    },
  }),

  // A wildcard, so that anything else in place of a card gets this page too.
  page('GET /c/*', async ({ reply, params, language }) => {
    const { '*': card } = params as { '*': string }
    const verdict = await cards.check(card)
    return reply
      .code(verdict.state === 'none' ? 404 : 200)
      .headers({ 'Content-Security-Policy': pageContentPolicy, 'X-Robots-Tag': 'noindex' })
      .type('text/html; charset=utf-8')
      .send(html({ ...cardPage(verdict, { language, timeZone, now: clock.now() }), language, branding }))
  }),
]
