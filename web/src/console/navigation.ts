/** The pages of the console, and who may open them. */
import type { Right, Staff } from '../people.ts'

export const places = {
  '': 'any',
  people: 'support',
  mail: 'support',
  roster: 'registrar',
  events: 'admin',
  refusals: 'support',
  providers: 'admin',
  webhooks: 'admin',
  applications: 'admin',
  staff: 'admin',
} as const satisfies Record<string, Right | 'any'>

/** The bar has room for a few pages; these lead to the others. */
const pagesUnder: Readonly<Record<string, readonly PageName[]>> = {
  people: ['refusals'],
  staff: ['applications', 'providers'],
}
const ways = Object.entries(pagesUnder) as [PageName, readonly PageName[]][]
export const linksOn = (place: PageName): readonly PageName[] => pagesUnder[place] ?? []
/** The page of the bar that leads here. */
export const inBar = (place: string): string =>
  ways.find(([, under]) => under.some((one) => one === place))?.[0] ?? place
export const isInBar = (place: PageName): boolean => inBar(place) === place

export type PageName = keyof typeof places

export const isPage = (text: string): text is PageName => Object.hasOwn(places, text)

export function can({ may }: Staff, right: Right | 'any'): boolean {
  return right === 'any' || may.includes('admin') || may.includes(right)
}

export const canOpen = (user: Staff, place: PageName): boolean => can(user, places[place])
