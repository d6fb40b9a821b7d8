/** Fetches the newest set from a local folder. It is read in place. */
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { FolderSource } from '../source.ts'
import { type Arrival, FetchError, type Wanted } from './arrival.ts'
import { type Entry, entryOf, newestOf } from './newest.ts'

export async function takeFromFolder({ path }: FolderSource, wanted: Wanted): Promise<Arrival | null> {
  const isFile = await isFileAt(path)
  const folder = isFile ? dirname(path) : path
  const names = async () => (isFile ? [basename(path)] : readdir(folder))
  const newest = await newestOf(async () => entriesOf(folder, await names()), wanted)
  if (newest === null) return null
  const { zip, mark, writtenAt, verify } = newest
  return {
    path: zip === null ? folder : join(folder, zip),
    name: zip ?? basename(resolve(folder)),
    ...{ mark, writtenAt, verify },
  }
}

async function isFileAt(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new FetchError('the folder does not exist')
  }
}

async function entriesOf(folder: string, names: readonly string[]): Promise<Entry[]> {
  const entries: Entry[] = []
  for (const name of names) {
    // A file may have been moved away in the meantime.
    const one = await stat(join(folder, name)).catch(() => null)
    if (one?.isFile()) entries.push(entryOf(name, one.size, one.mtimeMs))
  }
  return entries
}
