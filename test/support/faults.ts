/**
 * Faults that a machine has: power cuts, disks that fail or are full, clocks that jump. A small C library (faults.c) is
 * loaded into the processes under test; it writes down every write and every sync, and does what the control file says.
 */
import { spawnSync } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { programOf } from './install.ts'

const source = fileURLToPath(new URL('faults.c', import.meta.url))
const built = fileURLToPath(new URL('../../node_modules/.cache/chiron-test/faults.so', import.meta.url))
const sectorBytes = 512

type Kept = 'some' | 'none'

export interface Faults {
  /** The environment for processes that begin now. What is in the folder at this moment is safe. */
  begin(): Record<string, string>
  /** Every sync fails with this from now on. `lies`: it says that it worked, and did not. */
  failSyncs(how: 'EIO' | 'lies' | null): void
  /** Everything that would change a file fails with this from now on. */
  failWrites(how: 'EIO' | 'ENOSPC' | null): void
  /** Moves what the processes take for the time of day, by so much in all. */
  moveWallClock(ms: number): void
  /** Moves the clock that timers run by. */
  moveTimers(ms: number): void
  /** Changes to files, and writes to sockets, since the last call of `killAt`. */
  steps(): number
  /** Kills the processes, with all of their group, at this step from now; null for never. */
  killAt(step: number | null): void
  /**
   * The power was cut, once all processes are dead: every file is as it was last synced, with `some` of the later sectors
   * or `none`, and likewise of what a failed sync left out. Returns how many writes were lost.
   */
  losePower(kept?: Kept): number
  remove(): void
}

/** @param folder whose files are watched; its name must be that of no link */
export function newFaults(folder: string): Faults {
  const own = mkdtempSync(join(tmpdir(), 'chiron-faults-'))
  const control = join(own, 'control')
  const log = join(own, 'log')
  writeFileSync(control, Buffer.alloc(48))
  writeFileSync(log, '')
  let disk: Disk | undefined
  const set = (at: number, value: number) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(value))
    const descriptor = openSync(control, 'r+')
    writeSync(descriptor, bytes, 0, 8, at * 8)
    closeSync(descriptor)
  }
  const errorOf = (how: 'EIO' | 'ENOSPC' | null) => (how === null ? 0 : constants.errno[how])
  return {
    begin() {
      disk = Disk.of(folder)
      truncateSync(log)
      return { LD_PRELOAD: library(), FAULTS_CONTROL: control, FAULTS_LOG: log, FAULTS_UNDER: folder }
    },
    moveWallClock: (ms) => set(0, ms),
    moveTimers: (ms) => set(1, ms),
    failSyncs: (how) => set(2, how === 'lies' ? -1 : errorOf(how)),
    failWrites: (how) => set(3, errorOf(how)),
    steps: () => Number(readFileSync(control).readBigInt64LE(4 * 8)),
    killAt(step) {
      set(4, 0)
      set(5, step ?? 0)
    },
    losePower(kept = 'some') {
      const lost = disk!.replay(readFileSync(log), kept)
      disk!.write(folder)
      return lost
    },
    remove: () => rmSync(own, { recursive: true, force: true }),
  }
}

/** Compiles it, unless that was done since it was last changed. */
function library(): string {
  if (existsSync(built) && statSync(built).mtimeMs > statSync(source).mtimeMs) return built
  mkdirSync(dirname(built), { recursive: true })
  const compiler = programOf('cc')
  const draft = `${built}.${process.pid}`
  const done = spawnSync(compiler, ['-shared', '-fPIC', '-O2', '-o', draft, source, '-ldl'])
  if (done.status !== 0) throw new Error(`faults.c was not compiled: ${done.stderr}`)
  renameSync(draft, built)
  return built
}

interface File {
  /** What is safe; it has room for more. */
  bytes: Buffer
  size: number
  /** What was written since the last sync. */
  pending: { readonly at: number; readonly data: Buffer | null }[]
}

/** The names in a folder; changes to them are safe once the folder is synced. */
interface Folder {
  readonly names: Map<string, File | Folder>
  pending: ((names: Folder['names']) => void)[]
}

/** What a disk really has, as POSIX promises it and no more. */
class Disk {
  readonly #path: string
  readonly #root: Folder
  readonly #files = new Map<number, File>()
  /** Names as the processes see them. */
  readonly #seen = new Map<string, File | Folder>()
  #lost = 0

  private constructor(path: string) {
    this.#path = path
    this.#root = this.#load(path)
  }

  /** All that is there now is safe. */
  static of(path: string): Disk {
    return new Disk(path)
  }

  #load(path: string): Folder {
    const folder: Folder = { names: new Map(), pending: [] }
    this.#seen.set(path, folder)
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const place = join(path, entry.name)
      if (entry.isDirectory()) folder.names.set(entry.name, this.#load(place))
      if (!entry.isFile()) continue
      const bytes = readFileSync(place)
      const file = { bytes, size: bytes.length, pending: [] }
      this.#files.set(statSync(place).ino, file)
      this.#seen.set(place, file)
      folder.names.set(entry.name, file)
    }
    return folder
  }

  /** Returns how many writes were lost. */
  replay(log: Buffer, kept: Kept): number {
    for (let at = 0; at < log.length; ) {
      const kind = String.fromCharCode(log.readUInt32LE(at))
      const length = log.readUInt32LE(at + 4)
      const inode = Number(log.readBigUInt64LE(at + 8))
      const place = Number(log.readBigUInt64LE(at + 16))
      const data = log.subarray(at + 24, at + 24 + length)
      at += 24 + length
      this.#happened(kind, inode, place, data, kept)
    }
    for (const file of this.#files.values()) this.#keepSome(file, kept)
    if (kept === 'some') for (const thing of this.#seen.values()) if ('names' in thing) keepFirst(thing)
    return this.#lost
  }

  #happened(kind: string, inode: number, at: number, data: Buffer, kept: Kept): void {
    const [from = '', to = ''] = data.toString().split('\0')
    const file = this.#files.get(inode)
    if (kind === 'W') file!.pending.push({ at, data })
    if (kind === 'T') file!.pending.push({ at, data: null })
    if (kind === 'S') {
      for (const write of file!.pending) apply(file!, write)
      file!.pending = []
    }
    if (kind === 'F') this.#keepSome(file!, kept)
    if (kind === 'C') {
      const made: File = { bytes: Buffer.alloc(0), size: 0, pending: [] }
      this.#files.set(inode, made)
      this.#name(data.toString(), made)
    }
    if (kind === 'M') this.#name(to, { names: new Map(), pending: [] })
    if (kind === 'U') this.#name(to, null)
    if (kind === 'L') this.#name(to, this.#seen.get(from)!)
    if (kind === 'R') {
      const moved = this.#seen.get(from)!
      this.#name(from, null)
      this.#name(to, moved)
    }
    if (kind !== 'D') return
    const folder = this.#seen.get(data.toString()) as Folder
    for (const change of folder.pending) change(folder.names)
    folder.pending = []
  }

  #name(path: string, thing: File | Folder | null): void {
    const folder = this.#seen.get(dirname(path))
    if (!folder || !('names' in folder)) return
    const name = path.slice(dirname(path).length + 1)
    if (thing === null) this.#seen.delete(path)
    else this.#seen.set(path, thing)
    folder.pending.push((names) => {
      if (thing === null) names.delete(name)
      else names.set(name, thing)
    })
  }

  /** Each sector that was not synced may have arrived or not. */
  #keepSome(file: File, kept: Kept): void {
    const share = kept === 'none' ? 0 : [0, 0.5, 0.9, 1][randomInt(4)]!
    for (const { at, data } of file.pending) {
      if (data === null) {
        if (Math.random() < share) apply(file, { at, data })
        continue
      }
      let lost = false
      for (let start = 0; start < data.length; ) {
        const end = Math.min(data.length, start + sectorBytes - ((at + start) % sectorBytes))
        if (Math.random() < share) apply(file, { at: at + start, data: data.subarray(start, end) })
        else lost = true
        start = end
      }
      if (lost) this.#lost++
    }
    file.pending = []
  }

  /** Puts it in place of the folder. The index of SQLite's log lives in memory alone, so it may hold anything. */
  write(path: string): void {
    for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true, force: true })
    const store = (folder: Folder, place: string) => {
      for (const [name, thing] of folder.names) {
        const target = join(place, name)
        if ('names' in thing) {
          mkdirSync(target)
          store(thing, target)
        } else {
          const content = name.endsWith('-shm') ? randomBytes(32_768) : thing.bytes.subarray(0, thing.size)
          writeFileSync(target, content, { mode: 0o600 })
        }
      }
    }
    store(this.#root, this.#path)
  }
}

function apply(file: File, { at, data }: { at: number; data: Buffer | null }): void {
  const size = data === null ? at : Math.max(file.size, at + data.length)
  if (size > file.bytes.length) {
    const larger = Buffer.alloc(2 * size)
    file.bytes.copy(larger, 0, 0, file.size)
    file.bytes = larger
  }
  // What is cut off must not come back when the file grows again.
  if (size < file.size) file.bytes.fill(0, size, file.size)
  file.size = size
  data?.copy(file.bytes, at)
}

/** A file system writes changes to a folder in their order. */
function keepFirst(folder: Folder): void {
  const kept = randomInt(folder.pending.length + 1)
  for (const change of folder.pending.slice(0, kept)) change(folder.names)
  folder.pending = []
}
