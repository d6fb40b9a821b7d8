/** Rosters that are made to keep a processor busy or to fill the memory. */

/** Rows of a file, one by one, as text. */
export function rowsOf(header: string, count: number, row: (i: number) => string): Buffer {
  const pieces: Buffer[] = []
  let text = `${header}\n`
  for (let i = 0; i < count; i++) {
    text += `${row(i)}\n`
    if (text.length > 65_536) {
      pieces.push(Buffer.from(text))
      text = ''
    }
  }
  return Buffer.concat([...pieces, Buffer.from(text)])
}

/** Rows that have one cell each, and a header with three: every row is bad. */
export const oneCellRows = (count: number) =>
  rowsOf('sourcedId,givenName,familyName', count, (i) => i.toString(36))

/** Rows that are good, of people who have no role: reading and comparing them takes a while. */
export const people = (count: number) =>
  rowsOf('sourcedId,givenName,familyName', count, (i) => `person-${i},Ada,Byron`)

export const blockCharacters = 7

/**
 * Different ids with one FNV-1a hash, as it is without a seed: of each pair of blocks either can be taken (Joux, 2004).
 * `head` is what is hashed before an id.
 */
export function collidingIds(pairs: number, head: readonly number[]): string[] {
  let state = head.reduce(hashed, 0x811c9dc5)
  let ids = ['']
  for (let n = 0; n < pairs; n++) {
    const blocks = pairFrom(state)
    ids = ids.flatMap((id) => blocks.map((block) => id + block))
    state = after(state, blocks[0])
  }
  return ids
}

const hashed = (state: number, octet: number) => Math.imul(state ^ octet, 0x01000193)

function after(state: number, block: string): number {
  for (let i = 0; i < block.length; i++) state = hashed(state, block.charCodeAt(i))
  return state
}

function pairFrom(state: number): [string, string] {
  const found = new Map<number, string>()
  for (let i = 0; ; i++) {
    const block = (Math.imul(i, 0x9e3779b1) >>> 0).toString(36).padStart(blockCharacters, '0')
    const end = after(state, block)
    const other = found.get(end)
    if (other !== undefined) return [other, block]
    found.set(end, block)
  }
}
