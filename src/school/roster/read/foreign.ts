/** Recognises files that are not a OneRoster set, and says what to do instead. */
import { open } from 'node:fs/promises'

const ask = 'Export the roster as OneRoster CSV and use the exported zip unchanged.'

const beginnings: readonly (readonly [bytes: string, what: string])[] = [
  [
    '7z\xbc\xaf\x27\x1c',
    `This is a 7z archive. Unpack it and use the folder, or pack the CSV files as a zip.`,
  ],
  ['Rar!\x1a\x07', `This is a rar archive. Unpack it and use the folder, or pack the CSV files as a zip.`],
  ['\x1f\x8b', `This is a gzip archive. Unpack it and use the folder, or pack the CSV files as a zip.`],
  ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', `This is an old Excel workbook (xls). ${ask}`],
  ['%PDF-', `This is a PDF document. ${ask}`],
]

/** Instead of the export that `ask` asks for. */
const makeSet = '"chiron roster from-list FILE --out set.zip" makes a roster of it'
const list = `If it is a class list, ${makeSet}.`

const startOctets = 4096

/** null: it begins like a zip, so it may be one. */
export async function otherThanZip(path: string): Promise<string | null> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(startOctets), 0, startOctets, 0)
    return otherByStart(buffer.subarray(0, bytesRead))
  } finally {
    await file.close()
  }
}

function otherByStart(start: Buffer): string | null {
  if (start.length === 0) return `The file is empty. ${ask}`
  const bytes = start.toString('latin1')
  if (bytes.startsWith('PK')) return null
  const known = beginnings.find(([beginning]) => bytes.startsWith(beginning))
  if (known) return known[1]
  const text = start
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimStart()
  if (/^<(!doctype html|html|head|body)/i.test(text))
    return `This is a web page, most likely the sign-in page of the system, saved instead of the export. Sign in there and export again.`
  if (/^[{[]/.test(text)) return `This is JSON. Chiron reads OneRoster as CSV. ${ask}`
  if (text.startsWith('<')) return `This is XML. ${ask}`
  if (!bytes.includes('\0') && text.split(/\r\n|\n|\r/, 1)[0]!.includes(','))
    return `This is a single CSV file. A roster is a set of several files (users.csv, classes.csv, enrollments.csv …): use the zip or the folder that contains them all. ${list}`
  return `This is not a zip file. Use the exported zip unchanged, or the folder with the CSV files.`
}

/** By the files in a zip or folder; null if unknown. */
export function otherThanRoster(names: readonly string[]): string | null {
  const known = new Set(names.map((name) => name.toLowerCase()))
  const has = (...wanted: string[]) => wanted.every((name) => known.has(name))
  if (names.length === 0) return `It is empty. ${ask}`
  if (has('[content_types].xml')) {
    const isWorkbook = names.some((name) => name.startsWith('xl/'))
    return isWorkbook
      ? `This is an Excel workbook. ${list} ${ask}`
      : `This is a Microsoft Office document. ${ask}`
  }
  if (has('mimetype', 'content.xml')) return `This is a LibreOffice document. ${ask}`
  // OneRoster has neither of the last two.
  if (has('users.csv', 'enrollments.csv') && (has('sections.csv') || has('terms.csv')))
    return `This is an export for Canvas. Chiron reads OneRoster; ${makeSet}.`
  if (has('users.csv')) return null
  if (has('students.csv', 'sections.csv'))
    return `This is an export for Clever. Chiron reads OneRoster. ${ask}`
  if (has('students.csv', 'rosters.csv'))
    return `This is an export for Apple School Manager. Chiron reads OneRoster. ${ask}`
  if (has('student.csv', 'section.csv'))
    return `This is an export for Microsoft School Data Sync. Chiron reads OneRoster; ${makeSet}.`
  if (names.every((name) => /\.(zip|7z|rar)$/i.test(name)))
    return 'It contains another archive. Unpack it once and use the zip or folder inside.'
  return null
}
