/** Causes a real SQLite I/O error: the write-ahead log loses content that the shared index still points to. */
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** Makes the pages that `write` changes unreadable. Returns a function that restores them. */
export function loseLog(path: string, write: string): () => void {
  const other = new DatabaseSync(path)
  other.exec(write)
  const log = readFileSync(`${path}-wal`)
  truncateSync(`${path}-wal`)
  return () => {
    writeFileSync(`${path}-wal`, log)
    other.close()
  }
}
