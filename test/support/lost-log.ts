/** A real I/O error of SQLite: what another process wrote is gone from the log that the shared index points into. */
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** Pages that `write` changes cannot be read any more. Gives what puts them back. */
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
