/**
 * Opens a roster, a zip or a folder, and streams its files; nothing is unpacked to disk. A zip may be malicious:
 * excessive sizes in its headers are refused early, and the actual bytes are counted while streaming because headers
 * can lie.
 */
import { createHash, type Hash } from 'node:crypto'
import { createReadStream, type Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { crc32 } from 'node:zlib'
import { type Entry, getFileNameLowLevel, openPromise, validateFileName, type ZipFile } from 'yauzl'
import { UsageError } from '../../../errors.ts'
import { aboutFile, type CodedFinding, FatalFinding, type FindingCode } from '../findings.ts'

const ratioMax = 100

/** What may be in an archive: a set of CSV files, or something else that a set is made of. */
export interface Contents {
  /** Shown instead of the file's own name. */
  readonly name?: string
  readonly entriesMax: number
  /** By the names of its files: what it is instead, and what to do; null if nothing speaks against it. */
  other(names: readonly string[]): string | null
  /** The same for a file that may not be a zip, by its first octets. */
  otherStart(start: Buffer): string | null
}

const startOctets = 4096

export type Octets = AsyncIterable<Buffer>

export interface Archive {
  readonly name: string
  /** Hash of the zip, or of the folder's CSV files (names and contents) sorted by name. */
  readonly sha256: string
  /** Findings about the archive itself. After an error there are no files. */
  readonly findings: readonly CodedFinding[]
  /** Files in subfolders include their path. */
  readonly names: readonly string[]
  /** Throws a FatalFinding while it is read, when the file is too large or damaged. */
  open(name: string): Octets
  /** The first octets of a file; none if it cannot be read. */
  start(name: string): Promise<Buffer>
  close(): void
}

/** `octetsMax`: of all files, unpacked. */
export async function openArchive(path: string, octetsMax: number, contents: Contents): Promise<Archive> {
  try {
    const entry = await stat(path)
    if (entry.isDirectory()) return await openFolder(path, octetsMax, contents)
    if (entry.isFile()) return await openZip(path, octetsMax, contents)
  } catch (error) {
    throw usageError(path, error)
  }
  throw new UsageError(`${path} is neither a zip file nor a folder.`)
}

function usageError(path: string, error: unknown): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return new UsageError(`${path}: there is no such file or folder.`)
    case 'EACCES':
    case 'EPERM':
      return new UsageError(`${path} cannot be read: permission denied.`)
    default:
      return error
  }
}

function isJunk(path: string): boolean {
  const name = basename(path)
  const folders = path.split('/')
  return (
    folders.includes('__MACOSX') || name.startsWith('.') || name === 'Thumbs.db' || name === 'desktop.ini'
  )
}

const isCsv = (path: string) => path.toLowerCase().endsWith('.csv')

async function openFolder(path: string, octetsMax: number, contents: Contents): Promise<Archive> {
  const entries = await readdir(path, { withFileTypes: true })
  const names: string[] = []
  for (const entry of entries) {
    if (isJunk(entry.name)) continue
    if (entry.isFile() || (entry.isSymbolicLink() && (await stat(join(path, entry.name))).isFile()))
      names.push(entry.name)
  }
  names.sort()
  const below = names.some(isCsv) ? [] : await csvBelow(path, entries)
  const name = contents.name ?? basename(resolve(path))
  const { entriesMax } = contents
  const findings =
    names.length > entriesMax
      ? [tooMany(name, names.length, entriesMax)]
      : foreign(name, [...names, ...below], contents)
  if (findings.length === 0 && below.length > 0) findings.push(inFolder(name, below))
  if (findings.length === 0 && (await sizeOf(path, names.filter(isCsv))) > octetsMax)
    findings.push(tooLarge(name, octetsMax))
  const bounded = boundedBy(octetsMax)
  const files = findings.length > 0 ? [] : names
  return {
    name,
    sha256: await hashFolder(path, files.filter(isCsv)),
    findings,
    names: files,
    // A file may grow while it is read.
    open: (file) => bounded(createReadStream(join(path, file)), file),
    start: (file) => startOf(createReadStream(join(path, file), { end: startOctets - 1 })),
    close() {},
  }
}

async function csvBelow(path: string, entries: readonly Dirent[]): Promise<string[]> {
  const folders = entries.filter((entry) => entry.isDirectory() && !isJunk(entry.name))
  const names = await Promise.all(
    folders.map(async ({ name }) => {
      const below = await readdir(join(path, name)).catch(() => [])
      return below.filter((file) => isCsv(file) && !isJunk(file)).map((file) => `${name}/${file}`)
    }),
  )
  return names.flat().sort()
}

async function startOf(stream: Octets): Promise<Buffer> {
  const chunks: Buffer[] = []
  let octets = 0
  try {
    for await (const chunk of stream) {
      chunks.push(chunk)
      octets += chunk.length
      if (octets >= startOctets) break
    }
  } catch {
    // Reading the whole file will say why.
  }
  return Buffer.concat(chunks).subarray(0, startOctets)
}

async function sizeOf(path: string, names: readonly string[]): Promise<number> {
  let size = 0
  for (const name of names) size += (await stat(join(path, name))).size
  return size
}

async function hashFolder(path: string, names: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const name of names) {
    const { size } = await stat(join(path, name))
    // The size marks where each file ends, so that different files cannot produce the same hash input.
    hash.update(`${name}\0${size}\0`)
    await hashFile(join(path, name), hash)
  }
  return hash.digest('hex')
}

async function hashFile(path: string, hash: Hash): Promise<void> {
  for await (const chunk of createReadStream(path)) hash.update(chunk)
}

async function openZip(path: string, octetsMax: number, contents: Contents): Promise<Archive> {
  const hash = createHash('sha256')
  await hashFile(path, hash)
  const name = contents.name ?? basename(path)
  const other = contents.otherStart(await startOf(createReadStream(path, { end: startOctets - 1 })))
  const zip = other === null ? await zipAt(path) : null
  const findings: CodedFinding[] = []
  let entries = new Map<string, Entry>()
  if (other !== null) findings.push(notARoster(name, other))
  else if (zip === null) findings.push(damagedZip(name, 'This zip is incomplete or damaged.'))
  else if (zip.entryCount > contents.entriesMax)
    findings.push(tooMany(name, zip.entryCount, contents.entriesMax))
  else {
    await listEntries(zip, name, entries, findings)
    if (findings.length === 0) findings.push(...foreign(name, [...entries.keys()], contents))
    if (!findings.some(({ code }) => code === 'not-a-roster')) {
      entries = unwrapped(entries, name, findings)
      findings.push(...early(entries, name, octetsMax))
    }
  }
  const refused = findings.some((finding) => finding.severity === 'error')
  const bounded = boundedBy(octetsMax)
  const unpacked = (file: string) => unpack(zip!, entries.get(file)!)
  return {
    name,
    sha256: hash.digest('hex'),
    findings,
    names: refused ? [] : [...entries.keys()],
    open: (file) => checked(bounded(unpacked(file), file), entries.get(file)!, file),
    start: (file) => startOf(unpacked(file)),
    close: () => zip?.close(),
  }
}

/** null: it is none, or damaged. Names are decoded here: the library would reject a whole zip for one unsafe name. */
function zipAt(path: string): Promise<ZipFile | null> {
  return openPromise(path, { autoClose: false, decodeStrings: false }).catch((error) => {
    if (error.code) throw error
    return null
  })
}

async function listEntries(zip: ZipFile, name: string, found: Map<string, Entry>, findings: CodedFinding[]) {
  try {
    for await (const entry of zip.eachEntry()) {
      const { generalPurposeBitFlag, fileNameRaw, extraFields } = entry
      const path = getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, false)
      if (path.endsWith('/') || isJunk(path)) continue
      if (validateFileName(path) !== null) {
        const message = 'The path leads out of the folder, so the file was ignored. Create the zip again.'
        findings.push(aboutFile('warning', 'unsafe-name', path, message))
      } else if (found.has(path)) findings.push(duplicate(path))
      else found.set(path, entry)
    }
  } catch (error) {
    // The library reports this kind of encryption before it knows the entry's name.
    const isEncrypted = (error as Error).message.includes('encryption')
    findings.push(isEncrypted ? encrypted(name) : damagedZip(name))
  }
}

/** Zipping a folder usually includes the folder itself; this strips it from the names. */
function unwrapped(found: Map<string, Entry>, name: string, findings: CodedFinding[]): Map<string, Entry> {
  const folder = commonFolder([...found.keys()].filter(isCsv))
  if (folder === '') return found
  const message = `The files are in the folder ${folder} of the zip and were read from there. The standard requires them at the top level.`
  findings.push(aboutFile('warning', 'wrapped-in-folder', name, message))
  const inside = (path: string) => (path.startsWith(folder) ? path.slice(folder.length) : path)
  return new Map([...found].map(([path, entry]) => [inside(path), entry]))
}

function commonFolder(paths: readonly string[]): string {
  let folder = paths[0]?.slice(0, paths[0].lastIndexOf('/') + 1) ?? ''
  while (folder !== '' && !paths.every((path) => path.startsWith(folder)))
    folder = folder.slice(0, folder.lastIndexOf('/', folder.length - 2) + 1)
  return folder
}

function early(entries: ReadonlyMap<string, Entry>, name: string, octetsMax: number): CodedFinding[] {
  const findings: CodedFinding[] = []
  let unpacked = 0
  for (const [file, entry] of entries) {
    unpacked += entry.uncompressedSize
    if (entry.isEncrypted()) findings.push(encrypted(file))
    else if (!entry.canDecodeFileData()) findings.push(damaged(file))
    else if (entry.uncompressedSize > ratioMax * entry.compressedSize) findings.push(tooTight(file))
  }
  if (unpacked > octetsMax) findings.push(tooLarge(name, octetsMax))
  return findings
}

async function* unpack(zip: ZipFile, entry: Entry): AsyncGenerator<Buffer> {
  yield* await zip.openReadStreamPromise(entry)
}

/** Counts the octets of all files together. */
function boundedBy(octetsMax: number) {
  let left = octetsMax
  return async function* (chunks: Octets, file: string): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      left -= chunk.length
      if (left < 0) throw new FatalFinding(tooLarge(file, octetsMax))
      yield chunk
    }
  }
}

async function* checked(chunks: Octets, entry: Entry, file: string): AsyncGenerator<Buffer> {
  let octets = 0
  let checksum = 0
  try {
    for await (const chunk of chunks) {
      octets += chunk.length
      if (octets > ratioMax * entry.compressedSize) throw new FatalFinding(tooTight(file))
      checksum = crc32(chunk, checksum)
      yield chunk
    }
    if (checksum !== entry.crc32) throw new FatalFinding(damaged(file))
  } catch (error) {
    throw error instanceof FatalFinding ? error : new FatalFinding(damaged(file), error)
  }
}

function foreign(name: string, names: readonly string[], contents: Contents): CodedFinding[] {
  const other = contents.other(names)
  return other === null ? [] : [notARoster(name, other)]
}

function inFolder(name: string, [first]: readonly string[]): CodedFinding {
  const folder = first!.slice(0, first!.indexOf('/'))
  const message = `The CSV files are not here but in the folder ${folder} inside it. Use that folder.`
  return notARoster(name, message)
}

const failure = (code: FindingCode, file: string, message: string) => aboutFile('error', code, file, message)

const notARoster = (name: string, what: string) => failure('not-a-roster', name, what)

function tooMany(name: string, count: number, entriesMax: number): CodedFinding {
  const message = `There are ${count} files; a roster has at most ${entriesMax}. Keep only the CSV files of the roster.`
  return failure('too-many-files', name, message)
}

function tooLarge(name: string, octetsMax: number): CodedFinding {
  const message = `The files are larger than ${octetsMax / 1024 / 1024} MiB unpacked. Leave out files that are not needed, such as results.csv.`
  return failure('unpacks-too-large', name, message)
}

function tooTight(file: string): CodedFinding {
  const message = `It unpacks to more than ${ratioMax} times its packed size, which no real roster does. Export it again, or use the folder with the CSV files.`
  return failure('packed-too-tightly', file, message)
}

const encrypted = (file: string) =>
  failure('encrypted-file', file, 'It is password-protected. Create the zip without a password.')

const damagedZip = (name: string, what = 'The zip is damaged.') =>
  failure('damaged-file', name, `${what} Export it or copy it here again.`)

const damaged = (file: string) =>
  failure('damaged-file', file, 'It cannot be unpacked. Export the zip or copy it here again.')

const duplicate = (file: string) =>
  failure('duplicate-file', file, 'It is in the zip twice. Keep only the right one.')
