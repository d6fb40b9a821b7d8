/** `chiron network`: what the service knows about a network, of which only a fingerprint is kept. */
import ipaddr from 'ipaddr.js'
import { UsageError } from '../../errors.ts'
import type { Features } from '../../features.ts'
import { eventCountsOf, eventView, readFeed } from '../../messages/events/events.ts'
import { day, timestampOrNull } from '../../platform/lib/clock.ts'
import { networkOf } from '../../platform/lib/network.ts'
import { fingerprint, type Secrets } from '../../platform/lib/secret.ts'
import { type CommonOptions, numberFrom, say, table, timeFrom, visible, withFeatures } from './command.ts'

interface NetworkOptions extends CommonOptions {
  readonly since?: string
  readonly limit?: string
}

const eventsSinceMs = 7 * day
const eventsMax = 50

export async function network(which: string, options: NetworkOptions): Promise<void> {
  const limit = options.limit === undefined ? eventsMax : numberFrom('--limit', options.limit, 1, 10_000)
  await withFeatures(options, async (features) => {
    const now = features.clock.now()
    const since = options.since === undefined ? now - eventsSinceMs : timeFrom('--since', options.since, now)
    const fingerprints = fingerprintsOf(features.secrets, which)
    const reports = await Promise.all(fingerprints.map((one) => reportOn(features, one, since, limit)))
    say(options, { networks: reports }, reports.map(textOf).join('\n\n'))
  })
}

/** An address has a fingerprint under the current secret, and one under the previous secret if set. */
function fingerprintsOf(secrets: Secrets, which: string): string[] {
  if (ipaddr.isValid(which)) return secrets.all.map((keys) => fingerprint(keys, 'network', networkOf(which)))
  if (/^[A-Za-z0-9_-]{22}$/.test(which)) return [which]
  throw new UsageError(`"${visible(which)}" is neither an IP address nor a fingerprint`)
}

type Report = Awaited<ReturnType<typeof reportOn>>

async function reportOn({ db, clock, limits }: Features, one: string, since: number, limit: number) {
  const state = await limits.networkState(one, clock.now())
  const counts = await eventCountsOf(db, one)
  const events = await readFeed(db, { network: one, since, limit })
  const lastSeenAt = Math.max(state.lastSignInAt ?? 0, ...counts.map(({ last_at }) => last_at))
  return {
    fingerprint: one,
    lastSeenAt: timestampOrNull(lastSeenAt || null),
    wrongCodes: state.wrongCodes,
    limits: state.buckets,
    knownAddresses: state.knownAddresses,
    lastSignInAt: timestampOrNull(state.lastSignInAt),
    eventCounts: Object.fromEntries(counts.map(({ type, count }) => [type, count])),
    events: events.map(eventView),
  }
}

function textOf(report: Report): string {
  const { wrongCodes, limits, eventCounts, events } = report
  const counts = Object.entries(eventCounts).map(([type, count]) => `${count} ${type}`)
  const facts = table([
    ['network', report.fingerprint],
    ['last seen', report.lastSeenAt ?? 'never'],
    ['wrong codes', `${wrongCodes.last10Minutes} in 10 minutes, ${wrongCodes.lastDay} in a day`],
    ['limits', limits.map(({ name, left, burst }) => `${name} ${left} of ${burst} left`).join(', ')],
    ['people', `${report.knownAddresses} addresses signed in from there in the last 90 days`],
    ['events', counts.join(', ') || 'none'],
  ])
  const lines = table(events.map(({ number, at, type, userId }) => [String(number), at, type, userId ?? '']))
  return events.length === 0 ? facts : `${facts}\n\n${lines}`
}
