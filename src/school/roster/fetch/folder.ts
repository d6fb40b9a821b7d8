/** Takes the newest set from a folder of this machine. It is read where it lies. */
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { FolderSource } from '../source.ts'
import { type Arrival, FetchError, type Wanted } from './arrival.ts'
import { atRest, changedMeanwhile, type Entry, type FoundSet, markOf, newestSet } from './newest.ts'

export async function takeFromFolder(
  { path }: FolderSource,
  { known, limits }: Wanted,
): Promise<Arrival | null> {
  const { folder, names } = await contentOf(path)
  const look = async (): Promise<FoundSet> => {
    const found = newestSet(await entriesOf(folder, names ?? (await readdir(folder))))
    if (!found) throw new FetchError('there is neither a zip nor a CSV file in it')
    return found
  }
  const found = await atRest(look, limits)
  const mark = markOf(found)
  if (mark === known) return null
  return {
    path: found.zip === null ? folder : join(folder, found.zip),
    name: found.zip ?? basename(resolve(folder)),
    mark,
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
    throw new FetchError('there is no such folder')
  }
}

async function entriesOf(folder: string, names: readonly string[]): Promise<Entry[]> {
  const entries: Entry[] = []
  for (const name of names) {
    // One that is moved away meanwhile is no longer there.
    const one = await stat(join(folder, name)).catch(() => null)
    if (one?.isFile()) entries.push({ name, bytes: one.size, changedAt: one.mtimeMs })
  }
  return entries
}
