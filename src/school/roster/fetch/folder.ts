/** Fetches the newest set from a local folder. It is read in place. */
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { FolderSource } from '../source.ts'
import { type Arrival, FetchError, type Wanted } from './arrival.ts'
import {
  atRest,
  changedAt,
  changedMeanwhile,
  type Entry,
  entryOf,
  type FoundSet,
  markOf,
  newestSet,
} from './newest.ts'

export async function takeFromFolder(
  { path }: FolderSource,
  { known, limits }: Wanted,
): Promise<Arrival | null> {
  const { folder, names } = await contentOf(path)
  const look = async (): Promise<FoundSet> => {
    const found = newestSet(await entriesOf(folder, names ?? (await readdir(folder))))
    if (!found) throw new FetchError('it contains neither a zip nor a CSV file')
    return found
  }
  const found = await atRest(look, limits)
  const mark = markOf(found)
  if (mark === known) return null
  return {
    path: found.zip === null ? folder : join(folder, found.zip),
    name: found.zip ?? basename(resolve(folder)),
    mark,
    writtenAt: changedAt(found),
    async verify() {
      if (markOf(await look()) !== mark) throw changedMeanwhile()
    },
  }
}

/** `names`: the one file, if the source is a file. */
async function contentOf(path: string): Promise<{ folder: string; names: string[] | null }> {
  try {
    const isFile = (await stat(path)).isFile()
    return isFile ? { folder: dirname(path), names: [basename(path)] } : { folder: path, names: null }
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
