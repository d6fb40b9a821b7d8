/** The console's texts, the portal's texts for shared parts, and numbers in each language's format. */
import { createContext, use } from 'react'
import { now } from '../../clock.ts'
import type { ConsoleText } from '../../text/en/console.ts'
import { type Language, loadWords, type Words } from '../../text/text.ts'

export type { ConsoleText }

const texts = import.meta.glob<ConsoleText>('../../text/*/console.ts', { import: 'text' })
/** What each kind of finding means. */
const findings = import.meta.glob<Readonly<Record<string, string>>>('../../text/*/findings.ts', {
  import: 'text',
})

export interface ConsoleWords {
  readonly shared: Words
  readonly text: ConsoleText
  /** By code; empty in English. */
  readonly findings: Readonly<Record<string, string>>
  number(value: number): string
  percent(share: number): string
  /** "3 hours ago" */
  ago(moment: string): string
}

export async function loadConsoleWords(language: Language): Promise<ConsoleWords> {
  const [shared, text, findingsByCode] = await Promise.all([
    loadWords(language),
    texts[`../../text/${language}/console.ts`]!(),
    findings[`../../text/${language}/findings.ts`]!(),
  ])
  const whole = new Intl.NumberFormat(language)
  const share = new Intl.NumberFormat(language, { style: 'percent' })
  const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' })
  return {
    shared,
    text,
    findings: findingsByCode,
    number: (value) => whole.format(value),
    percent: (value) => share.format(value),
    ago: (moment) => {
      const seconds = Math.min(0, (Date.parse(moment) - now()) / 1000)
      const [unit, length] = units.find(([, each]) => -seconds >= each) ?? units.at(-1)!
      return relative.format(Math.round(seconds / length), unit)
    },
  }
}

const units: readonly (readonly [Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
]

export const ConsoleContext = createContext<ConsoleWords | null>(null)

export function useConsole(): ConsoleWords {
  return use(ConsoleContext)!
}
