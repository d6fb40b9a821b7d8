/** Whether what a store has of events is what src/messages/events/types.ts lists, and docs/webhooks.md with it. */
import assert from 'node:assert/strict'
import { type EventType, eventKinds } from '../../src/messages/events/types.ts'
import type { Db } from '../../src/platform/db/db.ts'

interface Row {
  readonly type: EventType
  readonly data: string
  readonly in_session: number
}

/** A store that cannot be read any more tells nothing. Tests also write events of other types. */
export async function assertListed(db: Db): Promise<void> {
  const rows = await db
    .all<Row>(
      'select distinct type, data, case when session_id is null then 0 else 1 end as in_session from event',
    )
    .catch(() => [])
  for (const { type, data, in_session } of rows) {
    const kind = eventKinds[type]
    if (!kind) continue
    const fields = { ...kind.data, ...kind.optional }
    const found = { ...JSON.parse(data), ...(in_session === 1 && { sessionId: 'some' }) }
    const about = `${type} ${data}`
    for (const name of Object.keys(kind.data ?? {})) assert.ok(name in found, `${name} is missing: ${about}`)
    for (const [name, value] of Object.entries(found)) {
      const field = fields[name]
      assert.ok(field, `${name} is not listed: ${about}`)
      assert.equal(typeof value, field.type === 'integer' ? 'number' : 'string', about)
      if (field.enum) assert.ok(field.enum.includes(value as string), about)
    }
  }
}
