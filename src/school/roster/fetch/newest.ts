/** Which of the files in a folder, here or on a server, is the newest set, and whether it is complete. */
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '../../../platform/lib/clock.ts'
import { type Arrival, FetchError, type Limits, type Wanted } from './arrival.ts'

export interface Entry {
  readonly name: string
  readonly bytes: number
  readonly changedAt: number
}

/** One zip, or all CSV files of the folder. */
export interface FoundSet {
  readonly zip: string | null
  readonly files: readonly Entry[]
}

const filesMax = 64

/** `writtenAt` in milliseconds. File systems know fractions of them, and a server may not say at all. */
export function entryOf(name: string, bytes: number, writtenAt: number): Entry {
  if (!Number.isFinite(writtenAt)) throw new FetchError('the server does not say when its files were written')
  return { name, bytes, changedAt: Math.floor(writtenAt) }
}

/** A folder may hold several zips, and be a set itself. */
export function newestSet(entries: readonly Entry[]): FoundSet | null {
  // Programs upload under hidden or other names, and rename the file when it is complete.
  const shown = entries.filter(({ name }) => /^[^./\\][^/\\\0]*$/.test(name))
  const zips = shown.filter(({ name }) => /\.zip$/i.test(name))
  const tables = shown.filter(({ name }) => /\.csv$/i.test(name)).sort((a, b) => (a.name < b.name ? -1 : 1))
  if (tables.length > filesMax)
    throw new FetchError(`there are ${tables.length} CSV files; a roster has fewer`, 3)
  const sets: FoundSet[] = zips.map((zip) => ({ zip: zip.name, files: [zip] }))
  if (tables.length > 0) sets.push({ zip: null, files: tables })
  const [newest = null] = sets.sort(
    (a, b) => changedAt(b) - changedAt(a) || ((a.zip ?? '') < (b.zip ?? '') ? 1 : -1),
  )
  return newest
}

const changedAt = ({ files }: FoundSet) => Math.max(...files.map((file) => file.changedAt))

function markOf({ files }: FoundSet): string {
  return JSON.stringify(files.map(({ name, bytes, changedAt: at }) => [name, bytes, at]))
}

/** Replaced in tests. */
export interface Time {
  /** As of files. */
  now(): number
  /** Without jumps. */
  elapsed(): number
  pause(ms: number): Promise<void>
}

const realTime: Time = { ...systemClock, pause: (ms) => pause(ms) }

/** Waits until nobody has written to the newest set for a while: somebody may be uploading it. */
export async function atRest(
  look: () => Promise<FoundSet>,
  { quietMs, unquietMaxMs, pollMs }: Limits,
  time: Time = realTime,
): Promise<FoundSet> {
  const started = time.elapsed()
  let found = await look()
  // A clock on another machine may be ahead of ours.
  let since = started - Math.max(0, time.now() - changedAt(found))
  while (time.elapsed() - since < quietMs) {
    if (time.elapsed() - started >= unquietMaxMs)
      throw new FetchError(`${found.zip ?? 'the set'} is still being written, so it was not fetched`)
    await time.pause(pollMs)
    const next = await look()
    if (markOf(next) !== markOf(found)) since = time.elapsed()
    found = next
  }
  return found
}

export interface Newest extends FoundSet, Pick<Arrival, 'mark' | 'writtenAt' | 'verify'> {}

/** The newest set of a folder, once nobody writes to it; null if it is the known one. */
export async function newestOf(
  entries: () => Promise<readonly Entry[]>,
  { known, limits }: Wanted,
): Promise<Newest | null> {
  const look = async () => {
    const found = newestSet(await entries())
    if (!found) throw new FetchError('it contains neither a zip nor a CSV file')
    return found
  }
  const found = await atRest(look, limits)
  const mark = markOf(found)
  if (mark === known) return null
  return {
    ...found,
    mark,
    writtenAt: changedAt(found),
    async verify() {
      if (markOf(await look()) !== mark) throw changedMeanwhile()
    },
  }
}

export function changedMeanwhile(): FetchError {
  return new FetchError('the set changed while it was being read, so it was not fetched; try again')
}
