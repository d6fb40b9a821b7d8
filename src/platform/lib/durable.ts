/** Files that survive a power cut: a new name is safe only once its folder has been flushed. */
import { closeSync, fchownSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Writes a file or a folder to the disk. */
export function flush(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

/** Makes a folder for its owner alone, with those above it, unless it is there. */
export function makeFolder(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = resolve(path); made.length >= resolve(first).length; made = dirname(made))
    flush(dirname(made))
}

/**
 * Makes an empty file for its owner alone. Made by root, it goes to the owner of its folder, as SQLite does with its
 * logs: otherwise the service could not write what a command of root's has made.
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
