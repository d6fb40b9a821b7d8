/** The uploaded file on its way into the store. */
import type { Readable } from 'node:stream'
import { AppError } from '../../../errors.ts'
import type { Db } from '../../../platform/db/db.ts'
import { visible } from '../../../platform/lib/visible.ts'
import { addPart } from './store.ts'

export const fileBytesMax = 64 * 1024 * 1024
/** Of a file that is too large. */
const discardedBytesMax = fileBytesMax + 1024 * 1024
const partBytes = 1024 * 1024
const nameMax = 100

export async function keepFile(db: Db, planId: string, file: Readable): Promise<void> {
  let bytes = 0
  let number = 0
  let waiting: Buffer[] = []
  let waitingBytes = 0
  const flush = async () => {
    await db.tx([addPart(planId, number++, Buffer.concat(waiting))])
    waiting = []
    waitingBytes = 0
  }
  for await (const chunk of chunksOf(file)) {
    bytes += chunk.length
    if (bytes > fileBytesMax) break
    waiting.push(chunk)
    waitingBytes += chunk.length
    if (waitingBytes >= partBytes) await flush()
  }
  if (bytes > fileBytesMax) await refuseLarge(file)
  if (bytes === 0) throw new AppError('invalid-request', 'The body is empty; it must be the file.')
  if (waitingBytes > 0) await flush()
}

/** Keeps reading for a while: a client that is cut off may not see the reply. */
export async function refuseLarge(file: Readable): Promise<never> {
  let bytes = 0
  for await (const chunk of chunksOf(file)) {
    bytes += chunk.length
    if (bytes > discardedBytesMax) break
  }
  throw new AppError('body-too-large')
}

/** Leaving the loop early does not destroy the stream, and with it the connection that the reply needs. */
const chunksOf = (file: Readable): AsyncIterable<Buffer> => file.iterator({ destroyOnReturn: false })

export function shownName(name = ''): string {
  const base = name.split(/[/\\]/).at(-1)!.trim()
  return [...visible(base)].slice(0, nameMax).join('') || 'roster.zip'
}
