/** What people see of their sessions, and the part of their export that is the same for every role. */

import { type DeliveryView, ownDeliveriesOf } from '../../messages/delivery/delivery.ts'
import { eventsOf } from '../../messages/events/events.ts'
import type { Db } from '../../platform/db/db.ts'
import { timestamp, timestampOrNull } from '../../platform/lib/clock.ts'
import { type NamedSession, sessionsOf } from './store.ts'

/** Of an open session and of one that has ended. */
export const viewOf = (session: NamedSession) => ({
  sessionId: session.session_id,
  device: session.device,
  startedAt: timestamp(session.started_at),
  lastSeenAt: timestamp(session.last_seen_at),
  expiresAt: timestamp(session.expires_at),
  authenticatedAt: timestampOrNull(session.auth_at),
  method: session.method,
  clientId: session.client_id,
  clientName: session.client_name,
})

/** As its owner sees it, unless the deliveries are read otherwise. */
export async function historyOf(
  db: Db,
  personId: string,
  readDeliveries: (db: Db, personId: string) => Promise<DeliveryView[]> = ownDeliveriesOf,
) {
  const [sessions, events, deliveries] = await Promise.all([
    sessionsOf(db, personId),
    eventsOf(db, personId),
    readDeliveries(db, personId),
  ])
  return {
    deliveries,
    sessions: sessions.map((session) => ({
      ...viewOf(session),
      endedAt: timestampOrNull(session.ended_at),
      endReason: session.end_reason,
    })),
    events: events.map((event) => ({
      at: timestamp(event.at),
      type: event.type,
      sessionId: event.session_id,
      actor: event.actor,
      note: event.note,
    })),
  }
}
