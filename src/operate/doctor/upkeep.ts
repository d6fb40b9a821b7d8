/** Things that age or pile up while the service runs: keys, backups, the roster, mails, deliveries. */

import { strangersMails } from '../../identity/limits/limits.ts'
import { day, hour, minute } from '../../platform/lib/clock.ts'
import { counted } from '../../platform/lib/counted.ts'
import { isOverdue } from '../../school/roster/overdue.ts'
import { bad, type Finding, good, lasting, warning } from './doctor.ts'
import type { KeyRow, LateCodes } from './store.ts'

export {
  failingWebhooks,
  keyRows,
  type LateCodes,
  lateCodes,
  passkeyCounts,
  unfinishedImport,
} from './store.ts'

const keyAgeMax = 100 * day
const rosterAgeMax = 35 * day
const fetchAgeMax = 26 * hour
const backupAgeMax = 26 * hour
const mailAgeWarned = minute
const mailAgeMax = 5 * minute
const unsentMax = 1_000

/** `opened`: for each key, whether the secret decrypts it. */
export function checkKeys(keys: readonly KeyRow[], opened: readonly boolean[], now: number): Finding {
  const newest = keys.at(-1)
  if (!newest) return warning('keys', 'there are no signing keys yet', 'start the service once')
  if (!opened.includes(true))
    return bad(
      'keys',
      'CHIRON_SECRET is not the secret that this store was created with',
      'set the right one, or set the one before as CHIRON_SECRET_PREVIOUS; the service does not start without it',
    )
  const age = now - newest.created_at
  if (age > keyAgeMax)
    return warning(
      'keys',
      `the newest signing key is ${lasting(age)} old; a running service creates one every 90 days`,
      'make sure that the service is running, and look for "the sweep" in its log',
    )
  return good(
    'keys',
    `${keys.length} signing ${keys.length === 1 ? 'key' : 'keys'}, the newest ${lasting(age)} old`,
  )
}

/** `lastAt`: null if there has never been one. */
export function checkBackup(lastAt: number | null, now: number): Finding {
  if (lastAt === null) return warning('backup', 'no backup has ever been made', 'run chiron backup every day')
  if (now - lastAt > backupAgeMax)
    return warning('backup', `the last one is ${lasting(now - lastAt)} old`, 'run chiron backup every day')
  return good('backup', `the last one is ${lasting(now - lastAt)} old`)
}

export function checkWebhooks({ failing, off }: { failing: number; off: number }, waiting: number): Finding {
  if (off > 0)
    return warning(
      'webhooks',
      `${off} of them ${off === 1 ? 'was' : 'were'} switched off: 410, or no success for three days`,
      'chiron webhooks list shows which; fix the receiver and run chiron webhooks enable, or remove the webhook',
    )
  if (failing > 0)
    return warning(
      'webhooks',
      `${failing} of them ${failing === 1 ? 'is' : 'are'} failing, ${counted(waiting, 'event is', 'events are')} waiting`,
      'chiron webhooks list shows which and why',
    )
  return good('webhooks', waiting === 0 ? 'nothing waits' : counted(waiting, 'event waits', 'events wait'))
}

export interface RosterFacts {
  readonly importedAt: number | null
  /** When an import, undo or correction made the roster what it is. */
  readonly changedAt: number | null
  /** When one was last imported or fetched, even without changes. */
  readonly checkedAt: number | null
  readonly unfinished: { startedAt: number; isRunning: boolean } | null
  /** Whether a roster source is configured. */
  readonly isFetched: boolean
  readonly fetchedAt: number | null
  readonly outcome: string | null
  /** When the newest fetched file was written, or first seen. */
  readonly fileAt: number | null
  readonly maxAgeDays: number
}

export function checkRoster(roster: RosterFacts, now: number): Finding[] {
  const { unfinished } = roster
  const findings = [rosterAge(roster, now)]
  if (roster.isFetched) findings.push(lastFetch(roster, now))
  if (unfinished?.isRunning)
    findings.push(good('roster', `an import has been running for ${lasting(now - unfinished.startedAt)}`))
  else if (unfinished)
    findings.push(
      warning(
        'roster',
        `an import that started ${lasting(now - unfinished.startedAt)} ago did not finish; none of it is visible`,
        'import the file again',
      ),
    )
  return findings
}

function lastFetch({ fetchedAt, outcome, fileAt, maxAgeDays }: RosterFacts, now: number): Finding {
  const timer = 'make sure that the timer for chiron roster fetch is running'
  if (fetchedAt === null) return warning('roster', 'never fetched', timer)
  const age = lasting(now - fetchedAt)
  if (now - fetchedAt > fetchAgeMax) return warning('roster', `the last fetch was ${age} ago`, timer)
  if (fileAt !== null && isOverdue(fileAt, now, maxAgeDays))
    return warning(
      'roster',
      `no newer file has come for ${lasting(now - fileAt)}`,
      'make sure that the school’s system still exports the roster to CHIRON_ROSTER_SOURCE',
    )
  if (outcome === 'imported' || outcome === 'unchanged')
    return good('roster', `fetched ${age} ago: ${outcome}`)
  return warning('roster', `the fetch ${age} ago ended as ${outcome}`, 'run chiron roster fetch to see why')
}

function rosterAge({ importedAt, changedAt, checkedAt }: RosterFacts, now: number): Finding {
  if (importedAt === null || checkedAt === null)
    return warning('roster', 'none imported yet: no student can sign in', 'run chiron roster import')
  const isByHand = changedAt !== null && changedAt > importedAt
  const changed = isByHand ? `, undone or corrected ${lasting(now - changedAt)} ago` : ''
  const checked = checkedAt > importedAt ? `, found unchanged ${lasting(now - checkedAt)} ago` : ''
  const text = `imported ${lasting(now - importedAt)} ago${changed}${checked}`
  return now - checkedAt > rosterAgeMax
    ? warning(
        'roster',
        text,
        'import the newest one: students who have joined since cannot sign in, and those who have left still can',
      )
    : good('roster', text)
}

/** `unsent` are mails other than first codes that wait for a budget. */
export function checkOutbox(unsent: number, oldestAt: number | null, now: number): Finding {
  if (oldestAt === null) return good('outbox', 'no mail is waiting')
  const age = now - oldestAt
  const text = `${unsent} ${unsent === 1 ? 'mail is' : 'mails are'} waiting, the oldest for ${lasting(age)}`
  if (age >= mailAgeMax || unsent >= unsentMax)
    return bad(
      'outbox',
      text,
      'make sure that the service is running and that the mail server accepts mail: people are waiting for codes',
    )
  return age >= mailAgeWarned
    ? warning('outbox', text, 'check again in a minute; the log says why mails are deferred')
    : good('outbox', text)
}

/** `isKnown`: whether somebody at the domain has a confirmed account, or CHIRON_MAIL_DOMAINS names it. */
export function checkFirstCodes({ domain, overall, waiting, dropped }: LateCodes, isKnown: boolean): Finding {
  const parts = [
    waiting > 0 ? counted(waiting, 'first code waits', 'first codes wait') : '',
    dropped > 0
      ? `${counted(dropped, 'first code', 'first codes')} of the last day expired unsent while waiting`
      : '',
  ].filter(Boolean)
  const { service, domain: unknownDomain, knownDomain } = strangersMails
  const [owner, perHour] = overall
    ? ['whole service', service]
    : ['domain', isKnown ? knownDomain : unknownDomain]
  return warning(
    'outbox',
    `${domain}: ${parts.join(' and ')} for the budget of the ${owner} (${perHour.toLocaleString('en')} an hour)`,
    overall || isKnown
      ? 'ask people to register over several hours (docs/scaling.md, "A launch day"); if they are not yours, somebody is registering strangers'
      : 'if your people have addresses there, add it to CHIRON_MAIL_DOMAINS; otherwise somebody is registering strangers',
  )
}
