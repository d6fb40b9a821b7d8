/** Ordinary zips and malicious ones. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { ZipFile } from 'yazl'
import { UsageError } from '../src/errors.ts'
import { type Row, rowOf } from './support/roster-edits.ts'
import { centralHeaders, clean12, freshPath, packZip, readAll, writeZip } from './support/roster-files.ts'

test('a zip of a folder is read from the folder, and what a Mac adds is passed over', async () => {
  const wrapped = Object.fromEntries(Object.entries(clean12).map(([name, text]) => [`export/${name}`, text]))
  const zip = await packZip({ ...wrapped, '__MACOSX/export/._users.csv': 'x', 'export/.DS_Store': 'x' })
  const { findings, records } = await readAll(writeZip(zip))
  assert.deepEqual(findings.map(rowOf), [['warning', 'wrapped-in-folder', 'roster.zip', null, null, null]])
  assert.equal(records.length, 12)
})

test('a name that leads out of the zip is ignored', async () => {
  const zip = await packZip({ ...clean12, 'xx/evil.csv': 'x' })
  const text = zip.toString('latin1').replaceAll('xx/evil.csv', '../evil.csv')
  const { findings, records } = await readAll(writeZip(Buffer.from(text, 'latin1')))
  assert.deepEqual(findings.map(rowOf), [['warning', 'unsafe-name', '../evil.csv', null, null, null]])
  assert.equal(records.length, 12)
})

async function tampered(change: (zip: Buffer, header: number) => void): Promise<string> {
  const zip = await packZip(clean12)
  change(zip, centralHeaders(zip).at(-1)!)
  return writeZip(zip)
}

const bomb = () => packZip({ ...clean12, 'users.csv': Buffer.alloc(20 * 1024 * 1024, 'a') })

const traps: [sentence: string, path: () => Promise<string>, expected: Row[]][] = [
  [
    'a file that unpacks to a thousand times its size',
    async () => writeZip(await bomb()),
    [['error', 'packed-too-tightly', 'users.csv', null, null, null]],
  ],
  [
    'the same with a header that lies about it',
    async () => {
      const zip = await bomb()
      for (const header of centralHeaders(zip))
        zip.writeUInt32LE(Math.min(zip.readUInt32LE(header + 24), 50_000), header + 24)
      return writeZip(zip)
    },
    [['error', 'damaged-file', 'users.csv', null, null, null]],
  ],
  [
    'files that come to more than 200 MiB',
    () =>
      tampered((zip, header) => {
        zip.writeUInt16LE(0, header + 10)
        zip.writeUInt32LE(0x0fff_ffff, header + 20)
        zip.writeUInt32LE(0x0fff_ffff, header + 24)
      }),
    [['error', 'unpacks-too-large', 'roster.zip', null, null, null]],
  ],
  [
    'an encrypted file',
    () => tampered((zip, header) => void zip.writeUInt16LE(zip.readUInt16LE(header + 8) | 1, header + 8)),
    [['error', 'encrypted-file', 'enrollments.csv', null, null, null]],
  ],
  [
    'a strongly encrypted file',
    () => tampered((zip, header) => void zip.writeUInt16LE(zip.readUInt16LE(header + 8) | 0x41, header + 8)),
    [['error', 'encrypted-file', 'roster.zip', null, null, null]],
  ],
  [
    'a packing that nobody knows',
    () => tampered((zip, header) => void zip.writeUInt16LE(99, header + 10)),
    [['error', 'damaged-file', 'enrollments.csv', null, null, null]],
  ],
  [
    'a broken list of files',
    () => tampered((zip, header) => void zip.writeUInt32LE(0, header)),
    [['error', 'damaged-file', 'roster.zip', null, null, null]],
  ],
  [
    'more than 64 files',
    async () =>
      writeZip(await packZip(Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`${i}`, 'x'])))),
    [['error', 'too-many-files', 'roster.zip', null, null, null]],
  ],
  [
    'the same name twice',
    async () => {
      const zip = await packZip({ ...clean12, 'usert.csv': 'x' })
      return writeZip(Buffer.from(zip.toString('latin1').replaceAll('usert.csv', 'users.csv'), 'latin1'))
    },
    [['error', 'duplicate-file', 'users.csv', null, null, null]],
  ],
]

for (const [sentence, path, expected] of traps) {
  test(`a zip is refused for ${sentence}`, async () => {
    const { findings, records } = await readAll(await path())
    assert.deepEqual(findings.map(rowOf), expected)
    assert.ok(!records.some(({ kind }) => kind === 'user'))
  })
}

test('a zip is refused when the content of a file does not match its checksum', async () => {
  const zip = new ZipFile()
  for (const [name, text] of Object.entries(clean12))
    zip.addBuffer(Buffer.from(text), name, { compress: false })
  zip.end()
  const bytes = (await buffer(zip.outputStream)).toString('latin1').replace('Byron', 'Bryon')
  const { findings } = await readAll(writeZip(Buffer.from(bytes, 'latin1')))
  assert.deepEqual(findings.map(rowOf), [['error', 'damaged-file', 'users.csv', null, null, null]])
})

const written = (name: string, content: string | Buffer) => {
  const path = freshPath(name)
  writeFileSync(path, content)
  return path
}

const strangers: [what: string, path: () => Promise<string> | string, message: RegExp][] = [
  [
    'an Excel workbook',
    async () => writeZip(await packZip({ '[Content_Types].xml': '<x/>', 'xl/workbook.xml': '<x/>' })),
    /an Excel workbook.*as OneRoster CSV/,
  ],
  [
    'an old Excel workbook',
    () => written('r.xls', Buffer.from('d0cf11e0a1b11ae1', 'hex')),
    /old Excel workbook/,
  ],
  [
    'a document of LibreOffice',
    async () => writeZip(await packZip({ mimetype: 'x', 'content.xml': '<x/>' })),
    /LibreOffice/,
  ],
  [
    'an export for Clever',
    async () => writeZip(await packZip({ 'students.csv': 'x', 'sections.csv': 'x', 'teachers.csv': 'x' })),
    /for Clever/,
  ],
  [
    'an export for Apple School Manager',
    async () => writeZip(await packZip({ 'students.csv': 'x', 'rosters.csv': 'x', 'classes.csv': 'x' })),
    /Apple School Manager/,
  ],
  [
    'an export for Canvas',
    async () => writeZip(await packZip({ 'users.csv': 'x', 'sections.csv': 'x', 'enrollments.csv': 'x' })),
    /for Canvas.*from-list/,
  ],
  [
    'an export for School Data Sync',
    async () => writeZip(await packZip({ 'Student.csv': 'x', 'Section.csv': 'x' })),
    /School Data Sync/,
  ],
  ['a 7z archive', () => written('r.7z', Buffer.from('377abcaf271c0004', 'hex')), /a 7z archive. Unpack it/],
  ['a rar archive', () => written('r.rar', Buffer.from('526172211a0700', 'hex')), /a rar archive. Unpack it/],
  ['a gzip archive', () => written('r.tgz', Buffer.from('1f8b0800', 'hex')), /a gzip archive/],
  ['a zip in a zip', async () => writeZip(await packZip({ 'roster.zip': 'x' })), /contains another archive/],
  ['a single CSV file', () => written('users.csv', 'sourcedId,status\n'), /a single CSV file.*use the zip/],
  ['a web page', () => written('r.zip', '<!DOCTYPE html><html></html>'), /a web page.*sign-in page/i],
  ['JSON', () => written('r.zip', '{"users": []}'), /This is JSON/],
  ['an empty file', () => written('r.zip', ''), /The file is empty/],
  ['an empty zip', async () => writeZip(await packZip({})), /It is empty/],
  [
    'half a zip',
    async () => {
      const zip = await packZip(clean12)
      return writeZip(zip.subarray(0, zip.length - 30))
    },
    /incomplete or damaged/,
  ],
]

for (const [what, path, message] of strangers) {
  test(`what is no roster is named for what it is: ${what}`, async () => {
    const { findings, records } = await readAll(await path())
    assert.deepEqual([findings.length, findings[0]?.severity, records], [1, 'error', []])
    assert.match(findings[0]!.message, message)
  })
}

test('where there is nothing, that is said in one line', async () => {
  await assert.rejects(readAll(freshPath('nothing.zip')), (error: Error) => {
    assert.ok(error instanceof UsageError)
    assert.match(error.message, /^[^\n]*there is no such file or folder/)
    return true
  })
})
