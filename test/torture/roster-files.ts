/**
 * Roster files as no school exports them: cells, lines, encodings and archives that were changed by chance or made to
 * harm. Reading one ends with findings or with one line of complaint; nothing else is thrown, and memory stays bounded.
 */
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import fc from 'fast-check'
import { UsageError } from '../../src/errors.ts'
import {
  centralHeaders,
  clean11,
  clean12,
  type Files,
  freshPath,
  packZip,
  writeFolder,
} from '../support/roster-files.ts'
import type { World } from '../support/roster-world.ts'

const growthMaxMb = 300

/** Pieces that mean something to a reader of CSV, put where nobody expects them. */
const pieces = fc.constantFrom(
  '"',
  '""',
  '"""',
  ',',
  ',,,,,,,,',
  '\r',
  '\n',
  '\r\n',
  '\n\n\n',
  '"\n',
  '\n"',
  '\u0000',
  '\ufeff',
  '\u2028',
  '\u202e',
  '\ufffd',
  ' ',
  '\t',
  ';',
  "'",
  '\\',
  '=cmd()',
  '-1',
  '1e999',
  '9999-99-99',
  '2026-02-30',
  'tobedeleted',
  'true',
  '__proto__',
  'constructor',
  'toString',
  '../../etc/passwd',
  'user-1',
  'org-1,org-1,org-1',
  'Mon 09:00-10:30; Mon 25:00-09:00',
  'x'.repeat(5_000),
  '"x'.repeat(500),
  ','.repeat(3_000),
  '\n'.repeat(3_000),
)
const rawPieces = fc
  .constantFrom('ff', 'c0af', 'eda080', 'fffe', '00', '80', 'f4bfbfbf', 'e2')
  .map((hex) => Buffer.from(hex, 'hex'))

type Change = (content: Buffer) => Buffer

const put = (content: Buffer, at: number, piece: Buffer, gone = 0) => {
  const i = at % (content.length + 1)
  return Buffer.concat([content.subarray(0, i), piece, content.subarray(i + gone)])
}

const byLine =
  (change: (lines: string[]) => string[]): Change =>
  (content) =>
    Buffer.from(change(content.toString('latin1').split('\n')).join('\n'), 'latin1')

const changes: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 50,
    arbitrary: fc.tuple(fc.nat(), pieces).map(
      ([at, piece]): Change =>
        (content) =>
          put(content, at, Buffer.from(piece)),
    ),
  },
  {
    weight: 20,
    arbitrary: fc.tuple(fc.nat(), rawPieces).map(
      ([at, piece]): Change =>
        (content) =>
          put(content, at, piece),
    ),
  },
  {
    weight: 20,
    arbitrary: fc.tuple(fc.nat(), fc.nat(255)).map(
      ([at, byte]): Change =>
        (content) =>
          put(content, at, Buffer.from([byte]), 1),
    ),
  },
  {
    weight: 20,
    arbitrary: fc.tuple(fc.nat(), fc.nat(60)).map(
      ([at, gone]): Change =>
        (content) =>
          put(content, at, Buffer.alloc(0), gone),
    ),
  },
  {
    weight: 10,
    arbitrary: fc.nat().map(
      (at): Change =>
        (content) =>
          content.subarray(0, at % (content.length + 1)),
    ),
  },
  {
    weight: 10,
    arbitrary: fc
      .tuple(fc.nat(), fc.nat(200))
      .map(
        ([at, times]): Change =>
          byLine((lines) =>
            lines.flatMap((line, i) => (i === at % lines.length ? Array<string>(times).fill(line) : [line])),
          ),
      ),
  },
  {
    weight: 10,
    arbitrary: fc
      .tuple(fc.nat(), fc.nat())
      .map(([a, b]): Change => byLine((lines) => lines.with(a % lines.length, lines[b % lines.length]!))),
  },
  {
    weight: 10,
    arbitrary: fc.constantFrom<Change>(
      (content) => Buffer.from(content.toString(), 'utf16le'),
      (content) => Buffer.from(`\ufeff${content}`, 'utf16le'),
      (content) => Buffer.from(`\ufeff${content}`, 'utf16le').swap16(),
      (content) => Buffer.from(`\ufeff${content}`),
      (content) => Buffer.from(content.toString().replaceAll('\n', '\r')),
      (content) => Buffer.from(content.toString().replaceAll('\n', '\n\r')),
      (content) => Buffer.from(content.toString().replaceAll(',', ';')),
      (content) => Buffer.from(content.toString().replaceAll('"', '')),
      (content) => Buffer.from(content.toString().toUpperCase()),
      () => Buffer.alloc(0),
    ),
  },
  // These take long.
  {
    weight: 1,
    arbitrary: fc.constantFrom<Change>(
      (content) => Buffer.concat([content, Buffer.from(`\n"${'x'.repeat(1_200_000)}`)]),
      (content) => Buffer.concat([content, Buffer.from(`\n${'a,'.repeat(200_000)}`)]),
      (content) => Buffer.concat([content, Buffer.from('\n"'.repeat(50_000))]),
      (content) => Buffer.concat([content, Buffer.from('"'.repeat(200_000))]),
      (content) => Buffer.concat([content, Buffer.from('"",'.repeat(100_000))]),
      () => Buffer.alloc(100_000),
    ),
  },
)

/** A roster with some of its files changed, left out or under another name. */
export const texts: fc.Arbitrary<Files> = fc
  .record({
    files: fc.constantFrom<Files>(clean12, clean11),
    changed: fc.array(fc.tuple(fc.nat(), fc.array(changes, { minLength: 1, maxLength: 4 })), {
      minLength: 1,
      maxLength: 3,
    }),
    gone: fc.option(fc.nat(), { freq: 6 }),
    renamed: fc.option(
      fc.tuple(fc.nat(), fc.constantFrom('USERS.CSV', 'users.csv.csv', 'users', '.csv', 'a/users.csv')),
      { freq: 10 },
    ),
  })
  .map(({ files, changed, gone, renamed }) => {
    const content = Object.entries(files).map(([name, text]): [string, Buffer] => [name, Buffer.from(text)])
    for (const [which, made] of changed) {
      const file = content[which % content.length]!
      // Changes of what is large already would make files that fill the memory of this process, not of the reader.
      for (const change of made) if (file[1].length < 50_000) file[1] = change(file[1])
    }
    if (renamed) content[renamed[0] % content.length]![0] = renamed[1]
    if (gone !== null) content.splice(gone % content.length, 1)
    return Object.fromEntries(content)
  })

/** Fields of a zip that can lie: where they are from the start of their header, and how long. */
const central = {
  flags: [8, 2],
  method: [10, 2],
  crc: [16, 4],
  packed: [20, 4],
  unpacked: [24, 4],
  nameLength: [28, 2],
  extraLength: [30, 2],
  commentLength: [32, 2],
  disk: [34, 2],
  offset: [42, 4],
} as const
const end = {
  disk: [4, 2],
  entries: [10, 2],
  size: [12, 4],
  offset: [16, 4],
  commentLength: [20, 2],
} as const
const values = fc.oneof(
  fc.constantFrom(0, 1, 2, 8, 9, 99, 0x41, 0xffff, 0xffff_fffe, 0xffff_ffff, 0x7fff_ffff, 50_000),
  fc.nat(),
)

type ZipChange = (zip: Buffer) => Buffer

const lie =
  (at: number, [offset, length]: readonly [number, number], value: number): ZipChange =>
  (zip) => {
    const place = at + offset
    if (place + length <= zip.length) zip.writeUIntLE(value % 2 ** (8 * length), place, length)
    return zip
  }

const zipChanges: fc.Arbitrary<ZipChange> = fc.oneof(
  fc.tuple(fc.nat(), fc.constantFrom(...Object.values(central)), values).map(
    ([which, field, value]): ZipChange =>
      (zip) => {
        const headers = centralHeaders(zip)
        return headers.length === 0 ? zip : lie(headers[which % headers.length]!, field, value)(zip)
      },
  ),
  fc.tuple(fc.constantFrom(...Object.values(end)), values).map(
    ([field, value]): ZipChange =>
      (zip) =>
        lie(Math.max(0, zip.lastIndexOf('PK\x05\x06', zip.length, 'latin1')), field, value)(zip),
  ),
  // Entries that overlap: all have the content of one.
  fc.nat().map(
    (which): ZipChange =>
      (zip) => {
        const headers = centralHeaders(zip)
        const whole = headers.filter((header) => header + 46 <= zip.length)
        if (whole.length === 0) return zip
        const offset = zip.readUInt32LE(whole[which % whole.length]! + 42)
        for (const header of whole) zip.writeUInt32LE(offset, header + 42)
        return zip
      },
  ),
  fc.tuple(fc.nat(), fc.nat(255)).map(
    ([at, byte]): ZipChange =>
      (zip) => {
        zip[at % zip.length] = byte
        return zip
      },
  ),
  fc.tuple(fc.nat(), fc.nat(300)).map(
    ([at, gone]): ZipChange =>
      (zip) =>
        put(zip, at, Buffer.alloc(0), gone),
  ),
  fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 40 })).map(
    ([at, more]): ZipChange =>
      (zip) =>
        put(zip, at, Buffer.from(more)),
  ),
  fc.constantFrom<ZipChange>(
    (zip) => Buffer.concat([zip, zip]),
    (zip) => Buffer.concat([Buffer.alloc(1_000), zip]),
    (zip) => Buffer.concat([zip, Buffer.alloc(70_000)]),
    (zip) => Buffer.from(zip.toString('latin1').replaceAll('users.csv', '../us.csv'), 'latin1'),
    (zip) => Buffer.from(zip.toString('latin1').replaceAll('users.csv', '/etc/pswd'), 'latin1'),
    (zip) => Buffer.from(zip.toString('latin1').replaceAll('users.csv', 'roles.csv'), 'latin1'),
    (zip) => Buffer.from(zip.toString('latin1').replaceAll('users.csv', 'users\0csv'), 'latin1'),
    (zip) => Buffer.from(zip.toString('latin1').replaceAll('users.csv', 'C:\\us.csv'), 'latin1'),
  ),
)

/** A zip of such a roster, changed itself. */
export const archives = fc.record({
  files: fc.oneof(
    { weight: 3, arbitrary: texts },
    { weight: 1, arbitrary: fc.constant<Files>({ ...clean12, 'users.csv': Buffer.alloc(8 * 1024 * 1024) }) },
    {
      weight: 1,
      arbitrary: fc.constant<Files>({
        ...clean12,
        'inner.zip': Buffer.from('504b0506000000000000000000000000000000000000', 'hex'),
      }),
    },
  ),
  made: fc.array(zipChanges, { minLength: 1, maxLength: 3 }),
})

export interface FilesReport {
  folders: number
  zips: number
  refused: number
  longestMs: number
  megabytesGrown: number
}

export class FileFuzzer {
  readonly #world: World
  readonly report: FilesReport = { folders: 0, zips: 0, refused: 0, longestMs: 0, megabytesGrown: 0 }
  readonly #megabytesBefore = megabytes()

  constructor(world: World) {
    this.#world = world
  }

  async folder(files: Files): Promise<void> {
    const plain = Object.entries(files).filter(([name]) => !name.includes('/'))
    await this.#plan(writeFolder(Object.fromEntries(plain)))
    this.report.folders++
  }

  async zip({ files, made }: { files: Files; made: readonly ZipChange[] }): Promise<void> {
    const path = freshPath('roster.zip')
    writeFileSync(
      path,
      made.reduce((zip, change) => change(zip), await packZip(files)),
    )
    await this.#plan(path)
    this.report.zips++
  }

  async #plan(path: string): Promise<void> {
    const { report } = this
    const since = performance.now()
    try {
      const { findings } = await this.#world.plan(path)
      for (const { message } of findings) assert.doesNotMatch(message, /hunter2/)
      if (findings.some(({ severity }) => severity === 'error')) report.refused++
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      report.refused++
    } finally {
      rmSync(dirname(path), { recursive: true })
    }
    report.longestMs = Math.max(report.longestMs, Math.round(performance.now() - since))
    report.megabytesGrown = megabytes() - this.#megabytesBefore
    assert.ok(report.megabytesGrown < growthMaxMb, `${report.megabytesGrown} MB`)
  }
}

/** The most that this process ever had. */
function megabytes(): number {
  return Math.round(process.resourceUsage().maxRSS / 1024)
}
