/** Ordinary zips and malicious ones. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
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

test('what is no roster at all is a usage error of one line', async () => {
  const plain = freshPath('users.csv')
  const zip = await packZip(clean12)
  writeFileSync(plain, 'sourcedId\n')
  for (const [path, message] of [
    [freshPath('nothing.zip'), /there is no such file or folder/],
    [plain, /is not a zip file/],
    [writeZip(zip.subarray(0, zip.length - 30)), /only a part of one/],
  ] as const) {
    await assert.rejects(readAll(path), (error: Error) => {
      assert.ok(error instanceof UsageError)
      assert.match(error.message, message)
      assert.ok(!error.message.includes('\n'))
      return true
    })
  }
})
