/** Clean rosters with one change, and the expected findings as table rows. */
import assert from 'node:assert/strict'
import type { Finding } from '../../src/school/roster/records.ts'
import { clean11, clean12, type Files } from './roster-files.ts'

export type Case = readonly [sentence: string, files: Files, expected: readonly Row[]]

export type Row = [
  severity: Finding['severity'],
  code: string,
  file: string,
  line: number | null,
  column: string | null,
  value: string | null,
]

export const rowOf = ({ severity, code, file, line, column, value }: Finding): Row => [
  severity,
  code,
  file,
  line,
  column,
  value,
]

function edited<F extends Files>(base: F, file: keyof F & string, from: string, to: string): Files {
  const text = String(base[file])
  assert.ok(text.includes(from), `${file} holds ${from}`)
  return { ...base, [file]: text.replace(from, () => to) }
}

export const in12 = (file: keyof typeof clean12, from: string, to: string) => edited(clean12, file, from, to)
export const in11 = (file: string, from: string, to: string) => edited(clean11 as Files, file, from, to)

export function delta(file: keyof typeof clean12): string {
  return clean12[file].replaceAll(/^([^,]+),,,/gm, '$1,active,2026-09-01T08:00:00Z,')
}

export function bytes(text: string, from: string, to: number[]): Buffer {
  const [before, rest] = text.split(from) as [string, string]
  return Buffer.concat([Buffer.from(before), Buffer.from(to), Buffer.from(rest)])
}
