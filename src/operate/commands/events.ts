/** `chiron events`: the audit trail as a table or as JSON lines, optionally followed live. */
import { setTimeout as pause } from 'node:timers/promises'
import { UsageError } from '../../errors.ts'
import type { Features } from '../../features.ts'
import { type EventType, eventTypes, eventView, readFeed } from '../../messages/events/events.ts'
import { nearest } from '../../platform/lib/nearest.ts'
import { type CommonOptions, numberFrom, timeFrom, visible, withFeatures } from './command.ts'
import { printJson, print as printLine } from './output.ts'

interface EventsOptions extends CommonOptions {
  readonly follow?: boolean
  readonly type?: string
  readonly person?: string
  readonly since?: string
  readonly after?: string
  readonly limit?: string
}

const pageSize = 500
const followEveryMs = 500

export async function events(options: EventsOptions): Promise<void> {
  const types = options.type?.split(',').map(typeFrom)
  const limit = options.limit === undefined ? null : numberFrom('--limit', options.limit, 1, 1_000_000)
  let after =
    options.after === undefined ? 0 : numberFrom('--after', options.after, 0, Number.MAX_SAFE_INTEGER)
  let isRead = true
  process.stdout.once('error', () => {
    isRead = false
  })
  await withFeatures(options, async (features) => {
    const { db, clock } = features
    const since = options.since === undefined ? undefined : timeFrom('--since', options.since, clock.now())
    const personId = options.person === undefined ? undefined : await personFrom(features, options.person)
    let left = limit ?? Number.POSITIVE_INFINITY
    for (;;) {
      const some = await readFeed(db, {
        after,
        limit: Math.min(pageSize, left),
        ...(types && { types }),
        ...(personId !== undefined && { personId }),
        ...(since !== undefined && { since }),
      })
      for (const event of some) print(eventView(event), options)
      left -= some.length
      after = some.at(-1)?.number ?? after
      if (left <= 0 || !isRead) return
      if (some.length === pageSize) continue
      if (!options.follow) return
      await pause(followEveryMs)
    }
  })
}

/** Events of a deleted account can still be read by id. */
async function personFrom({ support }: Features, text: string): Promise<string> {
  return support.idOf(text).catch((error) => {
    if (/^[A-Za-z0-9_-]{22}$/.test(text)) return text
    throw error
  })
}

function typeFrom(text: string): EventType {
  const name = text.trim()
  const type = eventTypes.find((each) => each === name)
  if (type) return type
  const near = nearest(name, eventTypes)
  throw new UsageError(`there is no event "${visible(name)}"${near ? `; did you mean ${near}?` : ''}`)
}

function print(event: ReturnType<typeof eventView>, { json }: EventsOptions): void {
  if (json) return void printJson(event)
  const data = Object.entries(event.data).map(([name, value]) => `${name}=${value}`)
  const cells = [
    String(event.number).padStart(7),
    event.at,
    event.type.padEnd(28),
    (event.userId ?? '').padEnd(22),
    `by ${event.actor}`,
    ...data,
  ]
  printLine(visible(cells.join('  ')))
}
