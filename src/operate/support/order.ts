/**
 * The orders in which staff read people. A page ends at a place in its order, not at a person: whoever is renamed or
 * changes in the meantime moves, and nobody else is skipped or repeated.
 */
import { invalidField } from '../../errors.ts'
import type { Sort } from './sorts.ts'

/** Last name, first name and id; or time and id. People without a name are a list of their own, by id alone. */
export type Place = readonly (string | number)[]

export type PartName = 'named' | 'nameless' | 'created' | 'updated'

export interface Order {
  /** One after the other. */
  readonly parts: readonly PartName[]
  /** Whether it goes backwards. People without a name come last all the same. */
  readonly isDown: boolean
}

const named = ['named', 'nameless'] as const
const orders: Readonly<Record<Sort, Order>> = {
  name: { parts: named, isDown: false },
  '-name': { parts: named, isDown: true },
  created: { parts: ['created'], isDown: false },
  '-created': { parts: ['created'], isDown: true },
  updated: { parts: ['updated'], isDown: false },
  '-updated': { parts: ['updated'], isDown: true },
}

export const orderOf = (sort: Sort): Order => orders[sort]

/** Numbers and text that every engine can compare with. */
const isNumber = (key: unknown) => Number.isSafeInteger(key)
const isText = (key: unknown) => typeof key === 'string' && !key.includes('\0')

const keyChecks: Readonly<Record<PartName, readonly ((key: unknown) => boolean)[]>> = {
  named: [isText, isText, isText],
  nameless: [isText],
  created: [isNumber, isText],
  updated: [isNumber, isText],
}

/** The end of a page. */
export interface Mark {
  readonly part: PartName
  /** Empty at the start. */
  readonly place: Place
}

export const startOf = ({ parts }: Order): Mark => ({ part: parts[0]!, place: [] })

export function markText(sort: Sort, { part, place }: Mark): string {
  return Buffer.from(JSON.stringify([sort, part, ...place])).toString('base64url')
}

export function markFrom(sort: Sort, text: string): Mark {
  const [itsSort, itsPart, ...place] = parsed(text)
  const part = orders[sort].parts.find((each) => each === itsPart)
  const isPlace = (of: PartName) =>
    place.length === 0 ||
    (place.length === keyChecks[of].length && keyChecks[of].every((isRight, i) => isRight(place[i])))
  if (itsSort !== sort || !part || !isPlace(part))
    throw invalidField({ parameter: 'after', detail: 'must be the `next` value of a page in the same order' })
  return { part, place: place as (string | number)[] }
}

function parsed(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}
