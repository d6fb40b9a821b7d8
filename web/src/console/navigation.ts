/** The pages of the console, and who may open them. */
import type { Right, Staff } from '../people.ts'

export const places = {
  '': 'any',
  people: 'support',
  mail: 'support',
  roster: 'registrar',
  events: 'admin',
  providers: 'admin',
  webhooks: 'admin',
  applications: 'admin',
  staff: 'admin',
} as const satisfies Record<string, Right | 'any'>

/** In the bar, which has room for a few; the page of staff leads to the others. */
const beside: readonly PageName[] = ['providers']
export const isInBar = (place: PageName): boolean => !beside.includes(place)

export type PageName = keyof typeof places

export const isPage = (text: string): text is PageName => Object.hasOwn(places, text)

export function can({ may }: Staff, right: Right | 'any'): boolean {
  return right === 'any' || may.includes('admin') || may.includes(right)
}

export const canOpen = (user: Staff, place: PageName): boolean => can(user, places[place])
