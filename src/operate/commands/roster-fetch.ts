/** `chiron roster fetch`: fetches the newest roster from the configured source, run by a timer or by hand. */

import { type Config, smtpSettingsOf } from '../../config.ts'
import { UsageError } from '../../errors.ts'
import type { Features } from '../../features.ts'
import { recipientsIn } from '../../identity/people/people.ts'
import { byOperator } from '../../platform/lib/by.ts'
import { type Fetched, RosterFetch } from '../../school/roster/fetch/fetch.ts'
import { placeOf } from '../../school/roster/source.ts'
import { say, visible, withFeatures } from './command.ts'
import { progressFor } from './progress.ts'
import {
  allowedFrom,
  planOptionsFrom,
  type RosterOptions,
  sayStore,
  showPlan,
  writeReport,
} from './roster.ts'

interface FetchOptions extends RosterOptions {
  readonly again?: boolean
  readonly reportAlways?: boolean
}

export async function rosterFetch(options: FetchOptions): Promise<void> {
  const allow = allowedFrom(options.allow)
  const planOptions = planOptionsFrom(options)
  await withFeatures(options, async (features, config) => {
    const { db, clock, secrets, roster } = features
    const { rosterSource: source, rosterReportTo: reportTo, rosterMaxAgeDays: maxAgeDays, timeZone } = config
    if (source === null)
      throw new UsageError('CHIRON_ROSTER_SOURCE is not set: it says where rosters are fetched from')
    if (options.reportAlways && reportTo.length === 0)
      throw new UsageError('CHIRON_ROSTER_REPORT_TO is not set: it says who gets reports')
    sayStore(options, config.databaseUrl)
    say(options, { type: 'source', place: placeOf(source) }, `Source: ${visible(placeOf(source))}`)
    const fetch = new RosterFetch({ db, clock, secrets, roster, source, reportTo, timeZone, maxAgeDays })
    const fetched = await fetch.run({
      plan: { ...planOptions, onProgress: progressFor(options.json === true) },
      allow,
      again: options.again === true,
      reportAlways: options.reportAlways === true,
      command: `chiron roster fetch${options.envFile === undefined ? '' : ` --env-file ${options.envFile}`}`,
      by: byOperator,
      async onPlan(plan) {
        await (showsPeople(options) ? showPlan(plan, options, allow) : writeReport(plan, options))
      },
      onProgress: progressFor(options.json === true),
    })
    const sent = await sendReports(fetched.mailIds, features, config)
    sayOutcome(fetched, sent, options)
  })
}

/** A timer's output goes to a log, which must not contain names or addresses. */
const showsPeople = ({ verbose, json }: FetchOptions) => verbose === true || json === true

function sayOutcome(
  { outcome, message, exitCode, generation, plan, details, isToldToday, mailIds }: Fetched,
  sent: number,
  options: FetchOptions,
) {
  const reports = mailIds.length
  const type = exitCode === 0 ? 'done' : 'stopped'
  const fields = { type, outcome, message, generation, reports, reportsSent: sent }
  const lines = [
    outcome === 'overdue' && `Overdue: ${visible(message)}.`,
    ...((plan && !showsPeople(options)) || outcome === 'overdue'
      ? details.map((paragraph) => `\n${paragraph}`)
      : []),
    reports > 0 && `\n${reportText(reports, sent)}`,
    isToldToday && '\nCHIRON_ROSTER_REPORT_TO got a report about this today.',
    reports === 0 &&
      exitCode !== 0 &&
      !isToldToday &&
      '\nNobody gets a report: CHIRON_ROSTER_REPORT_TO is not set.',
    outcome === 'imported' && `Done: ${message}.`,
    outcome === 'unchanged' && `Nothing to do: ${visible(message)}.`,
  ]
  const text = lines.filter(Boolean).join('\n')
  if (options.json || text !== '') say(options, fields, text)
  if (outcome === 'failed' || outcome === 'busy') throw new UsageError(visible(message), exitCode)
  process.exitCode = exitCode
}

function reportText(count: number, sent: number): string {
  const reports = count === 1 ? 'A report' : `${count} reports`
  if (sent === count) return `${reports} went to CHIRON_ROSTER_REPORT_TO.`
  return `${reports} for CHIRON_ROSTER_REPORT_TO ${count === 1 ? 'is' : 'are'} in the outbox; the service will send ${count === 1 ? 'it' : 'them'}.`
}

/** Sent at once, because the service may not run on this machine. Returns how many were sent. */
async function sendReports(ids: readonly string[], features: Features, config: Config): Promise<number> {
  const smtp = smtpSettingsOf(config)
  if (ids.length === 0 || smtp === null) return 0
  const { Outbox } = await import('../../messages/mail/outbox.ts')
  const { smtpTransport } = await import('../../messages/mail/smtp.ts')
  const transport = smtpTransport(smtp)
  const outbox = new Outbox({
    ...features,
    findRecipient: recipientsIn(features.roles, features.clock),
    // It sends reports to staff alone.
    strangers: null,
    transport,
    from: config.mailFrom,
    bounces: config.mailBounces,
    delayMs: [0, 1],
  })
  try {
    let gone = 0
    // On any failure, the mail stays in the outbox.
    for (const id of ids) if (await outbox.sendNow(id).catch(() => false)) gone++
    return gone
  } finally {
    await transport.close()
  }
}
