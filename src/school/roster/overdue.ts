/** An export that has stopped: the source is there, but no newer file comes. */
import { day } from '../../platform/lib/clock.ts'

/** `fileAt`: when the newest file was written, or first seen; null before the first. */
export function isOverdue(fileAt: number | null, now: number, maxAgeDays: number): boolean {
  return fileAt !== null && now - fileAt > maxAgeDays * day
}
