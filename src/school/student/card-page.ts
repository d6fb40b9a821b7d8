/** The page behind the QR code of a student's card, in the reader's language. */
import { escapeHtml } from '../../platform/lib/html.ts'
import type { Language } from '../../platform/lib/languages.ts'
import type { Verdict } from './card.ts'

interface CardTexts {
  readonly verdicts: Readonly<Record<Verdict['state'], { readonly heading: string; readonly lead: string }>>
  readonly name: string
  readonly number: string
  readonly school: string
  readonly year: string
  readonly checked: string
  readonly validUntil: string
}

const texts: Readonly<Record<Language, CardTexts>> = {
  en: {
    verdicts: {
      active: {
        heading: 'Genuine: currently a student',
        lead: 'The school confirms that this person is currently a student.',
      },
      inactive: {
        heading: 'Not currently a student',
        lead: 'The card is genuine, but this person is not currently an active student of the school.',
      },
      expired: {
        heading: 'This card has expired',
        lead: 'It was genuine, but a card is only valid for five minutes. Ask the student to show it again.',
      },
      none: {
        heading: 'Not a card of this school',
        lead: 'The school does not know this card. It is forged or mistyped, or more than a day old. Do not accept it.',
      },
    },
    name: 'Name',
    number: 'Student number',
    school: 'School',
    year: 'Year',
    checked: 'Checked',
    validUntil: 'Card valid until',
  },
  fr: {
    verdicts: {
      active: {
        heading: 'Authentique\u202f: actuellement étudiant·e',
        lead: 'L’école confirme que cette personne y est actuellement étudiante.',
      },
      inactive: {
        heading: 'Actuellement pas étudiant·e',
        lead: 'La carte est authentique, mais cette personne n’est pas actuellement inscrite à l’école.',
      },
      expired: {
        heading: 'Cette carte a expiré',
        lead: 'Elle était authentique, mais une carte n’est valable que cinq minutes. Demandez à la personne de la montrer de nouveau.',
      },
      none: {
        heading: 'Cette carte n’est pas de cette école',
        lead: 'L’école ne connaît pas cette carte. Elle est fausse, mal saisie ou date de plus d’un jour. Ne l’acceptez pas.',
      },
    },
    name: 'Nom',
    number: 'Numéro d’étudiant',
    school: 'École',
    year: 'Année',
    checked: 'Vérifiée',
    validUntil: 'Carte valable jusqu’à',
  },
  es: {
    verdicts: {
      active: {
        heading: 'Auténtico: estudia aquí actualmente',
        lead: 'La escuela confirma que esta persona es estudiante actualmente.',
      },
      inactive: {
        heading: 'Actualmente no estudia aquí',
        lead: 'El carné es auténtico, pero esta persona no es actualmente estudiante de la escuela.',
      },
      expired: {
        heading: 'Este carné ha caducado',
        lead: 'Era auténtico, pero un carné solo vale cinco minutos. Pida a la persona que lo muestre de nuevo.',
      },
      none: {
        heading: 'No es un carné de esta escuela',
        lead: 'La escuela no conoce este carné. Es falso, está mal escrito o tiene más de un día. No lo acepte.',
      },
    },
    name: 'Nombre',
    number: 'Número de estudiante',
    school: 'Escuela',
    year: 'Curso',
    checked: 'Comprobado',
    validUntil: 'Carné válido hasta',
  },
}

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
  const { verdicts, ...words } = texts[language]
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
