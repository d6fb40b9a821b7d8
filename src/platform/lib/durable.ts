/** Files that survive a power cut: a new name is safe only once its folder has been flushed. */
import { closeSync, fchownSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Flushes a file or a directory to disk. */
export function flush(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

/** Creates a directory and its parents, accessible only to the owner, unless it exists. */
export function makeFolder(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = resolve(path); made.length >= resolve(first).length; made = dirname(made))
    flush(dirname(made))
}

/**
 * Creates an empty file, accessible only to its owner. If root creates it, it gets the owner of its directory, as
 * SQLite does with its logs: otherwise the service could not write files that root's commands created.
 */
export function makeFile(path: string): void {
  const descriptor = openSync(path, 'wx', 0o600)
  try {
    if (process.getuid?.() !== 0) return
    const { uid, gid } = statSync(dirname(path))
    fchownSync(descriptor, uid, gid)
  } finally {
    closeSync(descriptor)
  }
}
