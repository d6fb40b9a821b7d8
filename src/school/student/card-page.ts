/** The page behind the QR code of a student's card, in the reader's language. */

import { escapeHtml } from '../../platform/lib/html.ts'
import type { Language } from '../../platform/lib/languages.ts'
import { pageTexts } from '../../platform/lib/page-texts/page-texts.ts'
import type { Verdict } from './card.ts'

/** A sign for each verdict, in a frame of another shape: the colour alone tells nobody anything. */
const signs: Readonly<Record<Verdict['state'], string>> = {
  active: '✓',
  inactive: '✕',
  expired: '!',
  none: '✕',
}

export function cardPage(
  verdict: Verdict,
  { language, timeZone, now }: { language: Language; timeZone: string; now: number },
): { title: string; body: string } {
  const { verdicts, ...words } = pageTexts[language].card
  const { heading, lead } = verdicts[verdict.state]
  // Plain `en` would mean American dates, with the month first.
  const clock = new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, {
    ...({ day: 'numeric', month: 'long', year: 'numeric' } as const),
    ...({ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const),
    ...({ timeZone, timeZoneName: 'short' } as const),
  })
  const facts: [label: string, value: string | number | null][] =
    'facts' in verdict
      ? [
          [words.name, [verdict.facts.firstname, verdict.facts.lastname].filter(Boolean).join(' ') || null],
          [words.number, verdict.facts.student_number],
          [words.school, verdict.facts.school_name],
          [words.year, verdict.facts.year],
          [words.validUntil, clock.format(verdict.validUntil)],
        ]
      : []
  const rows = [...facts, [words.checked, clock.format(now)] as const]
    .filter(([, value]) => value !== null)
    .map(
      ([label, value]) =>
        `<tr><th scope="row">${escapeHtml(label)}</th><td dir="auto">${escapeHtml(String(value))}</td></tr>`,
    )
  return {
    title: heading,
    body: `<div class="verdict ${verdict.state}"><span class="sign" aria-hidden="true">${signs[verdict.state]}</span>
<div><h1>${escapeHtml(heading)}</h1>
<p>${escapeHtml(lead)}</p></div></div>
<table><tbody>
${rows.join('\n')}
</tbody></table>`,
  }
}
