/** Mails to addresses without a confirmed account. */
import {
  both,
  type Condition,
  type Db,
  isTrue,
  locking,
  type Statement,
  statement,
} from '../../platform/db/db.ts'
import { hour } from '../../platform/lib/clock.ts'
import { firstCodesQuota, type Quota, strangersMails } from './policies.ts'

const noticesShare = 1 / 2

interface Take {
  readonly statements: readonly Statement[]
  readonly granted: Condition
}

const timeDigits = 13
const hasRoom = ({ windows }: Quota, first: number) =>
  windows
    .map(({ max }, i) => `substr(quota.times, ${(max - 1) * timeDigits + 1}, ${timeDigits}) <= $${first + i}`)
    .join(' and ')
const beginnings = ({ windows }: Quota, now: number) => windows.map(({ windowMs }) => String(now - windowMs))

function quotaHasRoom(quota: Quota, now: number): Condition {
  return {
    sql: (n) => `not exists (select 1 from quota where key = $${n} and not (${hasRoom(quota, n + 1)}))`,
    params: [quota.key, ...beginnings(quota, now)],
  }
}

function takeFromQuota(take: Quota & { mark: string; now: number; when: Condition }): Statement {
  const kept = Math.max(...take.windows.map(({ max }) => max)) * timeDigits
  const windowsAt = 5
  return statement(
    `insert into quota (key, times, taken_at, mark)
     select $1, $2, cast($3 as bigint), $4 where ${take.when.sql(windowsAt + take.windows.length)}
     on conflict (key) do update
       set times = substr(excluded.times || quota.times, 1, ${kept}), taken_at = excluded.taken_at, mark = excluded.mark
       where ${hasRoom(take, windowsAt)}
     returning key`,
    take.key,
    String(take.now),
    take.now,
    take.mark,
    ...beginnings(take, take.now),
    ...take.when.params,
  )
}

function takenFrom(key: string, mark: string): Condition {
  return {
    sql: (first) => `exists (select 1 from quota where key = $${first} and mark = $${first + 1})`,
    params: [key, mark],
  }
}

function lockQuota({ key }: Quota, when: Condition): Statement {
  return locking(`select key from quota where key = $1 and ${when.sql(2)}`, key, ...when.params)
}

/**
 * The limits of a mail to an address without a confirmed account. Its inbox and domain are fingerprints; `isKnown` if the
 * school uses the domain.
 */
export function strangersMailLimits(mail: {
  readonly inbox: string
  readonly domain: string
  readonly isKnown: boolean
  readonly hasCode: boolean
}) {
  const { service, domain, knownDomain } = strangersMails
  const perHour = (key: string, max: number): Quota => ({
    key: `mails:${key}`,
    windows: [{ max: mail.hasCode ? max : max * noticesShare, windowMs: hour }],
  })
  const budgets = {
    service: perHour('service', service),
    domain: perHour(mail.domain, mail.isKnown ? knownDomain : domain),
  }
  const inbox = firstCodesQuota(mail.inbox)
  const quotas: { inbox?: Quota; service: Quota; domain: Quota } = mail.hasCode
    ? { inbox, ...budgets }
    : budgets
  const all = Object.values(quotas)
  return {
    /** The one that has no room; that of the inbox first, because waiting does not help there. */
    async full(db: Db, now: number): Promise<keyof typeof quotas | null> {
      for (const [name, quota] of Object.entries(quotas))
        if (!(await isTrue(db, quotaHasRoom(quota, now)))) return name as keyof typeof quotas
      return null
    },
    /** Takes one from each, or none. All wait for the lock on the service's row, so that nobody takes too many. */
    take(mark: string, now: number, when: Condition): Take {
      const haveRoom = all.map((quota) => quotaHasRoom(quota, now)).reduce(both)
      const isFree = both(when, haveRoom)
      const after = (i: number) => (i === 0 ? isFree : takenFrom(all[i - 1]!.key, mark))
      return {
        statements: [
          lockQuota(budgets.service, isFree),
          ...all.map((quota, i) => takeFromQuota({ ...quota, mark, now, when: after(i) })),
        ],
        granted: takenFrom(all.at(-1)!.key, mark),
      }
    },
  }
}
