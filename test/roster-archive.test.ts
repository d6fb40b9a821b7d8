/** Ordinary zips and malicious ones. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { ZipFile } from 'yazl'
import { UsageError } from '../src/errors.ts'
import { type Row, rowOf } from './support/roster-edits.ts'
import {
  centralHeaders,
  clean12,
  type Files,
  freshPath,
  packZip,
  readAll,
  writeFolder,
  writeZip,
} from './support/roster-files.ts'

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

type Stranger = [what: string, path: () => Promise<string> | string, message: RegExp]

const canvas = {
  'users.csv': 'user_id,login_id,first_name,last_name,email,status\n',
  'courses.csv': 'course_id,short_name,long_name,status\n',
  'enrollments.csv': 'course_id,user_id,role,section_id,status\n',
}
const inFolder = (folder: string, files: Files) =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text]))

const strangers: Stranger[] = [
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
  [
    'a zip in a zip',
    async () => writeZip(await packZip({ 'roster.zip': 'x' })),
    /only another archive. Unpack it once, and use roster.zip/,
  ],
  [
    'one file of a set',
    () => written('users.csv', 'sourcedId,status\n'),
    /a single CSV file of a OneRoster set. Use the zip/,
  ],
  [
    'a single CSV file',
    () => written('x.csv', 'colour,size\n'),
    /a single CSV file.*use the zip.*from-list \S+x.csv --out/,
  ],
  ...[
    'First name,Last name,E-mail,Class\n',
    'Prénom;Nom;Courriel;Cours\n',
    'Nombre\tApellidos\tCorreo\tClase\n',
  ].map(
    (header): Stranger => [
      `a class list with the header ${header.trim()}`,
      () => written('my list.csv', `${header}Ada,Byron,ada@school.example,Anatomy\n`),
      /a class list: upload it in the console as it is, or make a roster of it: chiron roster from-list "\S+my list.csv" --out set.zip$/,
    ],
  ),
  [
    'a class list of UTF-16',
    () => written('list.txt', Buffer.from('\ufeffName\tE-mail\tClass\n', 'utf16le')),
    /a class list: .*or make a roster of it: chiron roster from-list \S+list.txt --out set.zip$/,
  ],
  [
    'a folder with a class list',
    () => writeFolder({ 'list.csv': 'Name,E-mail,Class\n' }),
    /list.csv is not .*from-list \S+roster\/list.csv --out/,
  ],
  [
    'a zip with a class list',
    async () => writeZip(await packZip({ 'Liste.csv': 'Name,E-mail,Class\n' })),
    /a class list in it, Liste.csv, and no roster. Unpack it, and use Liste.csv itself: .*: chiron roster from-list Liste.csv --out set.zip$/,
  ],
  [
    'a zip with two class lists',
    async () => writeZip(await packZip({ '1a.csv': 'Name,E-mail,Class\n', '1b.csv': 'Name,E-mail,Class\n' })),
    /2 class lists in it \(1a.csv, 1b.csv\), and no roster. Unpack it, and make one roster of all of them: chiron/,
  ],
  [
    'a zip with a workbook',
    async () => writeZip(await packZip({ 'my list.xlsx': 'x' })),
    /only an Excel workbook. .*: chiron roster from-list "my list.xlsx" --out set.zip$/,
  ],
  [
    'a class list under the name of users.csv',
    () => writeFolder({ 'users.csv': 'Name,E-mail,Class\n' }),
    /users.csv is not .*but a class list/,
  ],
  [
    'a Canvas export',
    () => writeFolder(canvas),
    /for Canvas. Make a roster of it: chiron roster from-list \S+roster --out set.zip$/,
  ],
  [
    'a Canvas export in a folder of a zip',
    async () => writeZip(await packZip(inFolder('export', { ...canvas, 'sections.csv': 'section_id\n' }))),
    /for Canvas. Make a roster of it: chiron roster from-list \S+roster.zip --out set.zip$/,
  ],
  [
    'files for School Data Sync',
    () =>
      writeFolder({
        'orgs.csv': 'sourcedId,name,type\n',
        'users.csv': 'sourcedId,username,givenName,familyName\n',
        'roles.csv': 'userSourcedId,orgSourcedId,role\n',
        'classes.csv': 'sourcedId,orgSourcedId,title\n',
        'enrollments.csv': 'classSourcedId,userSourcedId,role\n',
      }),
    /for Microsoft School Data Sync. Make a roster of it: chiron roster from-list \S+roster --out set.zip$/,
  ],
  [
    'two sets in a zip',
    async () => writeZip(await packZip({ ...inFolder('2025', clean12), ...inFolder('2026', clean12) })),
    /2 sets, in the folders 2025\/, 2026\/. Keep only one/,
  ],
  [
    'a zip in a folder, beside a note',
    async () => writeFolder({ 'set.zip': await packZip(clean12), 'note.txt': 'x' }),
    /only an archive. Use \S+roster\/set.zip instead/,
  ],
  [
    'two zips in a folder',
    () => writeFolder({ 'a.zip': 'x', 'b.zip': 'x' }),
    /only 2 archives: a.zip, b.zip. Use one/,
  ],
  [
    'a folder in a folder',
    () => {
      const path = writeFolder({})
      mkdirSync(join(path, 'export'))
      for (const [name, text] of Object.entries(clean12)) writeFileSync(join(path, 'export', name), text)
      return path
    },
    /in the folder export inside it/,
  ],
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
