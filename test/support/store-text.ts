/** Everything in a store as text, as an attacker with a copy would read it. */
import { existsSync, readFileSync } from 'node:fs'
import type { Service } from './service.ts'

export interface Cell {
  readonly table: string
  readonly column: string
  readonly value: string
}

export async function storeCells(service: Service): Promise<Cell[]> {
  const { engine } = service.app.parts.db
  const tables = await service.rows<{ name: string }>(
    engine === 'sqlite'
      ? "select name from sqlite_master where type = 'table'"
      : "select table_name as name from information_schema.tables where table_schema = 'public'",
  )
  const cells: Cell[] = []
  for (const { name: table } of tables) {
    for (const row of await service.rows<Record<string, unknown>>(`select * from "${table}"`)) {
      for (const [column, value] of Object.entries(row))
        if (value !== null) cells.push({ table, column, value: String(value) })
    }
  }
  return cells
}

/** The raw bytes of the SQLite file and its log, one character per byte. */
export function sqliteBytes(databaseUrl: string): string {
  const file = databaseUrl.slice('sqlite:'.length)
  return [file, `${file}-wal`]
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n')
}

/** Whether the code occurs on its own, not as digits inside an id or a time. */
export function standsIn(text: string, code: string | number): boolean {
  return new RegExp(`(?<![\\w-])${code}(?![\\w-])`).test(text)
}
