/** Copies an SQLite store before a migration, so that the upgrade can be reverted. */
import { readdirSync, rmSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { UsageError } from '../../errors.ts'
import { minute } from '../lib/clock.ts'
import { copySqlite } from './sqlite-file.ts'

const keptMax = 2
// Several processes may start at once and take turns with the migrations. The first one's copy serves all.
const sameUpgradeMs = 10 * minute
// Migrations need disk space as well.
const sizesNeeded = 2

export const copyName = (file: string, version: number) =>
  `${file}.before-${String(version).padStart(4, '0')}`

/** Returns the name of the copy, or null if this upgrade has one. */
export async function copyBefore(file: string, version: number): Promise<string | null> {
  const isOfThisUpgrade = copiesOf(file).some(({ madeAt }) => Date.now() - madeAt < sameUpgradeMs)
  if (isOfThisUpgrade) return null
  checkRoom(sizeOf(file), freeBeside(file))
  const copy = copyName(file, version)
  await copySqlite(file, copy)
  for (const { path } of copiesOf(file).slice(keptMax)) rmSync(path)
  return copy
}

export function checkRoom(bytes: number, freeBytes: number): void {
  if (freeBytes >= sizesNeeded * bytes) return
  throw new UsageError(
    `there is not enough disk space to copy the store before its migration: the store has ${sizeText(bytes)}; ${sizeText(sizesNeeded * bytes)} are needed and ${sizeText(freeBytes)} are free`,
  )
}

export function sizeOf(file: string): number {
  return [file, `${file}-wal`].reduce(
    (sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
}

export function freeBeside(file: string): number {
  const { bavail, bsize } = statfsSync(dirname(file))
  return bavail * bsize
}

export const sizeText = (bytes: number) =>
  bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`

/** Newest first. */
function copiesOf(file: string): { path: string; madeAt: number }[] {
  const start = `${basename(file)}.before-`
  return readdirSync(dirname(file))
    .filter((name) => name.startsWith(start) && /^\d{4}$/.test(name.slice(start.length)))
    .map((name) => join(dirname(file), name))
    .map((path) => ({ path, madeAt: statSync(path).mtimeMs }))
    .sort((a, b) => b.madeAt - a.madeAt)
}
