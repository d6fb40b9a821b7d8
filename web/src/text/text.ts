/** The portal's texts, one folder per language with the same files, and dates in each language's format. */
import { createContext, use } from 'react'
import { isLanguage, type Language } from '../../../src/platform/lib/languages.ts'
import { now } from '../clock.ts'
import { recall, remember } from '../device.ts'
import { pageForClient } from '../route.ts'
import type { Text } from './en/portal.ts'

export { type Language, languages } from '../../../src/platform/lib/languages.ts'
export type { Text }

const texts = import.meta.glob<Text>('./*/portal.ts', { import: 'text' })
const rightToLeft = ['ar', 'fa', 'he', 'ur']

/** That of the application that sent the reader here, or the one chosen earlier, or one of the browser's. */
export function preferredLanguage(): Language {
  const asked = pageForClient && new URLSearchParams(location.search).get('ui_locales')
  const tags = [...(asked?.split(' ') ?? []), recall('language') ?? '', ...navigator.languages]
  return tags.map((tag) => tag.split('-')[0]!.toLowerCase()).find(isLanguage) ?? 'en'
}

export const rememberLanguage = (language: Language): void => remember('language', language)

export async function loadWords(language: Language): Promise<Words> {
  const text = await texts[`./${language}/portal.ts`]!()
  document.documentElement.lang = language
  document.documentElement.dir = rightToLeft.includes(language) ? 'rtl' : 'ltr'
  return { language, text, dates: datesIn(language) }
}

export interface Words {
  readonly language: Language
  readonly text: Text
  readonly dates: Dates
}

export const WordsContext = createContext<Words | null>(null)

export function useWords(): Words {
  return use(WordsContext)!
}

export type Dates = ReturnType<typeof datesIn>

function datesIn(language: Language) {
  // Plain `en` would mean American dates, with the month first.
  const locale = navigator.languages.find((tag) => tag.split('-')[0] === language) ?? language
  const region = locale === 'en' ? 'en-GB' : locale
  // A calendar date has no time zone: UTC keeps it the same day everywhere.
  const calendar = (options: Intl.DateTimeFormatOptions) => {
    const format = new Intl.DateTimeFormat(region, { ...options, timeZone: 'UTC' })
    return { format: (date: string) => format.format(at(date)), range: format }
  }
  const day = calendar({ day: 'numeric', month: 'short', year: 'numeric' })
  const short = calendar({ day: 'numeric', month: 'short' })
  const month = calendar({ month: 'short' })
  const weekday = calendar({ weekday: 'short' })
  const weekdayAndDay = calendar({ weekday: 'short', day: 'numeric', month: 'short' })
  const timetable = new Intl.DateTimeFormat(region, {
    hour: 'numeric',
    minute: '2-digit',
    timeZone: 'UTC',
  })
  const initial = calendar({ month: 'narrow' })
  const today = calendar({ weekday: 'long', day: 'numeric', month: 'long' })
  const time = new Intl.DateTimeFormat(region, { hour: 'numeric', minute: '2-digit' })
  const moment = new Intl.DateTimeFormat(region, { dateStyle: 'medium', timeStyle: 'short' })
  const clock = new Intl.DateTimeFormat(region, { timeStyle: 'medium' })
  const precise = new Intl.DateTimeFormat(region, { dateStyle: 'medium', timeStyle: 'medium' })
  const momentDay = new Intl.DateTimeFormat(region, { dateStyle: 'long' })
  return {
    day: day.format,
    span: (start: string, end: string) => day.range.formatRange(at(start), at(end)),
    shortSpan: (start: string, end: string) => short.range.formatRange(at(start), at(end)),
    /** 0 is Monday. */
    weekday: (index: number) => weekday.format(`2024-01-0${index + 1}`),
    weekdayAndDay: weekdayAndDay.format,
    weekdaySpan: (start: string, end: string) => weekdayAndDay.range.formatRange(at(start), at(end)),
    /** A time of the school's timetable, such as 09:00, without a date or time zone. */
    times: (start: string, end: string) => timetable.formatRange(onClock(start), onClock(end)),
    timeOfDay: (time: string) => timetable.format(onClock(time)),
    month: month.format,
    monthInitial: initial.format,
    today: today.format,
    /** Only the time for today, otherwise with the date; in the reader's time zone. */
    recent: (at: string | number) => {
      const then = new Date(at)
      return (then.toDateString() === new Date(now()).toDateString() ? time : moment).format(then)
    },
    moment: (text: string) => moment.format(new Date(text)),
    /** With seconds. */
    clock: (text: string) => clock.format(new Date(text)),
    precise: (text: string) => precise.format(new Date(text)),
    dayOf: (moment: string) => momentDay.format(new Date(moment)),
  }
}

const onClock = (time: string) => new Date(`2024-01-01T${time}:00Z`)
const at = (date: string) => new Date(`${date}T00:00:00Z`)
