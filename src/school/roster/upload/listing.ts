/**
 * Changes as staff list them: group by group, page by page, found by words. Those of a plan are read from its pages,
 * those of an import by comparing the rosters before and after it.
 */
import { invalidField } from '../../../errors.ts'
import type { Db } from '../../../platform/db/db.ts'
import { folded } from '../../../platform/lib/folded.ts'
import type { Change, HistoryRow, Roster } from '../roster.ts'
import { type Group, groups } from '../words.ts'
import { changePages, type PageId } from './store.ts'

export interface Wanted {
  readonly group?: Group
  /** Words that each change must have. */
  readonly q?: string
}

interface WantedPage extends Wanted {
  /** The `next` value of the previous page. */
  readonly after?: string
  readonly limit: number
}

interface Placed {
  readonly change: Change
  /** The cursor of a page that begins with this change: its group, and what its source makes of the rest. */
  readonly at: string
}

type Matches = (text: string) => boolean

/** The changes of one group that match, from a cursor without its group; an empty one is the beginning. */
export type Changes = (group: Group, from: string, matches: Matches | null) => AsyncIterable<Placed>

export async function changesPage(source: Changes, { limit, after, ...wanted }: WantedPage) {
  const changes: Change[] = []
  for await (const { change, at } of find(source, wanted, after)) {
    if (changes.length === limit) return { changes, next: at }
    changes.push(change)
  }
  return { changes, next: null }
}

export async function* allChanges(source: Changes, wanted: Wanted): AsyncGenerator<Change> {
  for await (const { change } of find(source, wanted)) yield change
}

async function* find(source: Changes, { group, q = '' }: Wanted, after = '0.'): AsyncGenerator<Placed> {
  const words = folded(q).split(/\s+/).filter(Boolean)
  const matches = words.length === 0 ? null : (text: string) => words.every((word) => text.includes(word))
  const [, first, from = ''] = /^(\d{1,2})\.([\w.-]*)$/.exec(after) ?? []
  if (first === undefined) throw wrongCursor()
  for (const [place, each] of groups.entries()) {
    if (place < Number(first) || (group !== undefined && each !== group)) continue
    for await (const { change, at } of source(each, place === Number(first) ? from : '', matches))
      yield { change, at: `${place}.${at}` }
  }
}

const pagesAtOnce = { changes: 4, keys: 200 }

/** A cursor is a page and the index of a change in it. */
export function changesOfPlan(db: Db, planId: string): Changes {
  return async function* (group, from, matches) {
    const [, first, skipped] = /^(\d{1,6})\.(\d{1,6})$/.exec(from || '0.0') ?? []
    if (first === undefined) throw wrongCursor()
    const start = { planId, place: groups.indexOf(group), page: Number(first) }
    for await (const { page, changes, hits } of pagesFrom(db, start, matches))
      for (const [index, change] of changes.entries()) {
        const isBefore = page === start.page && index < Number(skipped)
        if (!isBefore && (hits === null || hits[index])) yield { change, at: `${page}.${index}` }
      }
  }
}

/** With `matches`, only pages that have a hit; the others are not read whole. */
async function* pagesFrom(db: Db, start: PageId, matches: Matches | null) {
  const column = matches ? 'keys' : 'changes'
  for (let next = start.page; ; ) {
    const pages = await changePages(db, { ...start, page: next }, column, pagesAtOnce[column])
    for (const { page, text } of pages) {
      const hits = matches && text.split('\n').map(matches)
      if (hits?.includes(true) === false) continue
      const whole = hits ? (await changePages(db, { ...start, page }, 'changes', 1))[0]?.text : text
      const changes: Change[] = JSON.parse(whole ?? '[]')
      yield { page, changes, hits }
    }
    if (pages.length < pagesAtOnce[column]) return
    next = pages.at(-1)!.page + 1
  }
}

/** A cursor is the key of the change before. */
export function changesOfImport(roster: Roster, row: HistoryRow): Changes {
  return async function* (group, from, matches) {
    let before = Buffer.from(from, 'base64url').toString()
    if (!/^[\w-]*$/.test(from) || before.includes('\0')) throw wrongCursor()
    for await (const { change, text, key } of roster.changesOf(row, group, before)) {
      if (matches === null || matches(text)) yield { change, at: Buffer.from(before).toString('base64url') }
      before = key
    }
  }
}

function wrongCursor(): Error {
  return invalidField({ parameter: 'after', detail: 'must be the `next` value of the previous page' })
}
