import { hidden, shown, type Tables, table } from '../platform/db/columns.ts'

export const messageColumns = {
  event: table({
    id: 'id person_id session_id actor request_id',
    time: 'at',
    fingerprint: 'network_fingerprint',
    other: 'type data generation number',
  }),
  event_counter: table({ other: 'one last' }),
  note: table({ id: 'event_id person_id' }, { text: shown('row', 'events.note') }),
  outbox: table(
    {
      id: 'id session_id claimed_by',
      time: 'created_at expires_at admitted_at next_at sent_at',
      fingerprint: 'address_fingerprint waits_for',
      other: 'role language digits reference kind attempts report',
    },
    { email: hidden('row', 'it goes when the mail has gone') },
  ),
  delivery: table(
    {
      id: 'id session_id person_id asker_id',
      time: 'created_at updated_at bounced_at',
      fingerprint: 'address_fingerprint',
      other: 'role kind state',
    },
    { domain: shown('row', 'deliveries.domain'), steps: hidden('row', 'shown as deliveries.steps') },
  ),
  notice: table({ time: 'sent_at', fingerprint: 'inbox_fingerprint' }),
  notice_budget: table({ id: 'mark', time: 'full_at', fingerprint: 'key' }),
  webhook: table({
    id: 'id',
    time: 'sealed_before_until created_at disabled_at failing_since',
    secret: 'sealed sealed_before',
    other: 'url events after_number disabled_because failures',
  }),
  webhook_queue: table({ other: 'one queued_to' }),
  webhook_delivery: table({
    id: 'webhook_id line',
    time: 'tried_at ended_at',
    other: 'number attempts status error outcome',
  }),
  webhook_line: table({ id: 'webhook_id line claimed_by', time: 'next_at' }),
} satisfies Tables
