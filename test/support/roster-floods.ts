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
