/** What grows old or piles up while the service runs: keys, backups, the roster, mails, deliveries. */
import { day, hour, minute } from '../../platform/lib/clock.ts'
import { bad, type Finding, good, lasting, warning } from './doctor.ts'
import type { KeyRow } from './store.ts'

export { failingWebhooks, keyRows, unfinishedImport } from './store.ts'

const keyAgeMax = 100 * day
const rosterAgeMax = 35 * day
const fetchAgeMax = 26 * hour
const backupAgeMax = 26 * hour
const mailAgeWarned = minute
const mailAgeMax = 5 * minute
const unsentMax = 1_000

/** `opened`: for each key, whether the secret opens it. */
export function checkKeys(keys: readonly KeyRow[], opened: readonly boolean[], now: number): Finding {
  const newest = keys.at(-1)
  if (!newest) return warning('keys', 'there are no signing keys yet', 'start the service once')
  if (!opened.includes(true))
    return bad(
      'keys',
      'CHIRON_SECRET is not the one that this store was made with',
      'set the right one, or set the one before as CHIRON_SECRET_PREVIOUS; otherwise everybody is signed out',
    )
  const age = now - newest.created_at
  if (age > keyAgeMax)
    return warning(
      'keys',
      `the newest signing key is ${lasting(age)} old; a running service makes one every 90 days`,
      'see that the service runs, and look for "the sweep" in its log',
    )
  return good(
    'keys',
    `${keys.length} signing ${keys.length === 1 ? 'key' : 'keys'}, the newest ${lasting(age)} old`,
  )
}

/** `lastAt`: null if there never was one. */
export function checkBackup(lastAt: number | null, now: number): Finding {
  if (lastAt === null) return warning('backup', 'there never was one', 'run chiron backup every day')
  if (now - lastAt > backupAgeMax)
    return warning('backup', `the last one is ${lasting(now - lastAt)} old`, 'run chiron backup every day')
  return good('backup', `the last one is ${lasting(now - lastAt)} old`)
}

export function checkWebhooks({ failing, off }: { failing: number; off: number }, waiting: number): Finding {
  if (off > 0)
    return warning(
      'webhooks',
      `${off} of them ${off === 1 ? 'was' : 'were'} switched off: 410, or no success for three days`,
      'chiron webhooks list says which; mend the receiver and run chiron webhooks enable, or remove it',
    )
  if (failing > 0)
    return warning(
      'webhooks',
      `${failing} of them ${failing === 1 ? 'fails' : 'fail'}, ${waiting} events wait`,
      'chiron webhooks list says which and why',
    )
  return good('webhooks', waiting === 0 ? 'nothing waits' : `${waiting} events wait`)
}

export interface RosterFacts {
  readonly importedAt: number | null
  /** When one was last imported or fetched, also if it changed nothing. */
  readonly checkedAt: number | null
  readonly unfinished: { startedAt: number; isRunning: boolean } | null
  /** Whether the settings say where rosters are fetched from. */
  readonly isFetched: boolean
  readonly fetchedAt: number | null
  readonly outcome: string | null
}

export function checkRoster(roster: RosterFacts, now: number): Finding[] {
  const { unfinished } = roster
  const findings = [rosterAge(roster, now)]
  if (roster.isFetched) findings.push(lastFetch(roster, now))
  if (unfinished?.isRunning)
    findings.push(good('roster', `an import is under way since ${lasting(now - unfinished.startedAt)}`))
  else if (unfinished)
    findings.push(
      warning(
        'roster',
        `an import that began ${lasting(now - unfinished.startedAt)} ago did not finish; nobody sees any of it`,
        'import the file again',
      ),
    )
  return findings
}

function lastFetch({ fetchedAt, outcome }: RosterFacts, now: number): Finding {
  const timer = 'see that the timer of chiron roster fetch runs'
  if (fetchedAt === null) return warning('roster', 'it was never fetched', timer)
  const age = lasting(now - fetchedAt)
  if (now - fetchedAt > fetchAgeMax) return warning('roster', `the last fetch was ${age} ago`, timer)
  if (outcome === 'imported' || outcome === 'unchanged')
    return good('roster', `fetched ${age} ago: ${outcome}`)
  return warning(
    'roster',
    `the fetch of ${age} ago ended as ${outcome}`,
    'run chiron roster fetch, which says why',
  )
}

function rosterAge({ importedAt, checkedAt }: RosterFacts, now: number): Finding {
  if (importedAt === null || checkedAt === null)
    return warning('roster', 'none was imported: no student can sign in', 'run chiron roster import')
  const checked = checkedAt > importedAt ? `, found unchanged ${lasting(now - checkedAt)} ago` : ''
  const text = `imported ${lasting(now - importedAt)} ago${checked}`
  return now - checkedAt > rosterAgeMax
    ? warning('roster', text, 'import the newest one: who came since cannot sign in, and who left still can')
    : good('roster', text)
}

export function checkOutbox(unsent: number, oldestAt: number | null, now: number): Finding {
  if (oldestAt === null) return good('outbox', 'no mail waits')
  const age = now - oldestAt
  const text = `${unsent} ${unsent === 1 ? 'mail waits' : 'mails wait'}, the oldest for ${lasting(age)}`
  if (age >= mailAgeMax || unsent >= unsentMax)
    return bad(
      'outbox',
      text,
      'see that the service runs and that the mail server takes mail: people wait for codes',
    )
  return age >= mailAgeWarned
    ? warning('outbox', text, 'look again in a minute; the log says why mails are deferred')
    : good('outbox', text)
}
