/** What becomes of a mail, a case a line: no database, and no clock but the one in the case. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type StrangersMail, strangersMails, strangersQuotas } from '../src/identity/limits/policies.ts'
import {
  type Admission,
  admissionOf,
  type Choice,
  choiceOf,
  isHeldBy,
  isHeldOrWaits,
  type Limit,
  type Mail,
  sessionToName,
} from '../src/messages/mail/rules.ts'
import { day, hour, minute } from '../src/platform/lib/clock.ts'
import { countAfter, hasRoom } from '../src/platform/lib/limit.ts'

const start = Date.parse('2026-11-19T08:00:00Z')

const held: Mail = {
  id: 'mail',
  session_id: 'session',
  role: 'veterinarian',
  email: 'vet@vets.example',
  address_fingerprint: 'address',
  language: 'en',
  digits: 6,
  reference: 'ABC',
  kind: null,
  created_at: start,
  expires_at: start + 10 * minute,
  attempts: 1,
  admitted_at: null,
  waits_for: null,
  sent_at: null,
  report: null,
  claimed_by: 'one',
}
const lost: Mail = { ...held, claimed_by: 'other' }
const free: Mail = { ...held, claimed_by: null }
const waits: Mail = { ...free, waits_for: 'service' }

describe('A worker', () => {
  const cases: readonly [what: string, mail: Mail | undefined, held: boolean, orWaits: boolean][] = [
    ['has a mail that it claimed', held, true, true],
    ['has no mail that another claimed', lost, false, false],
    ['has no mail that was given back', free, false, false],
    ['has no mail that is gone', undefined, false, false],
    ['may serve a mail that waits', waits, false, true],
    ['may drop a mail that waited in vain', { ...waits, claimed_by: 'one' }, true, true],
  ]
  for (const [what, mail, isHeld, orWaits] of cases)
    test(what, () => {
      assert.equal(isHeldBy('one', mail), isHeld)
      assert.equal(isHeldOrWaits('one', mail), orWaits)
    })
})

describe('A notice', () => {
  const cases: readonly [
    what: string,
    mail: Mail | undefined,
    age: number,
    full: Limit | null,
    is: Choice,
  ][] = [
    ['is the first', held, start, null, 'chosen'],
    ['is the first in a day', held, day, null, 'chosen'],
    ['is the second within a day', held, day - 1, null, 'repeated'],
    ['is the second at once', held, 0, null, 'repeated'],
    ['is ahead of a clock that was wrong', held, -minute, null, 'repeated'],
    ['is over the budget of its domain', held, start, 'domain', 'over-budget'],
    ['is over the budget of all', held, day, 'service', 'over-budget'],
    ['is the second, and over a budget', held, 1, 'service', 'repeated'],
    ['is with another worker', lost, start, null, 'gone'],
    ['is with another worker, and over a budget', lost, start, 'service', 'gone'],
    ['was given back', free, start, null, 'gone'],
    ['was sent', undefined, start, null, 'gone'],
  ]
  for (const [what, mail, age, full, is] of cases)
    test(`${what}: ${is}`, () => {
      assert.equal(choiceOf(mail, { claim: 'one', lastAt: start - age, full }, start), is)
    })
})

describe('A first code', () => {
  const cases: readonly [
    what: string,
    mail: Mail | undefined,
    queue: string | null,
    full: Limit | null,
    is: Admission,
  ][] = [
    ['with room', held, null, null, 'admitted'],
    ['to an inbox with three', held, null, 'inbox', 'inbox'],
    ['to a full domain', held, null, 'domain', 'domain'],
    ['while the service is full', held, null, 'service', 'service'],
    ['behind others of its domain', held, 'fingerprint', null, 'domain'],
    ['behind others of the service', held, 'service', null, 'service'],
    ['behind others, whatever else is full', held, 'service', 'inbox', 'service'],
    ['with another worker', lost, null, null, 'gone'],
    ['with another worker, behind others', lost, 'service', 'service', 'gone'],
    ['given back', free, null, null, 'gone'],
    ['gone', undefined, null, null, 'gone'],
  ]
  for (const [what, mail, queue, full, is] of cases)
    test(`${what}: ${is}`, () => assert.equal(admissionOf(mail, { claim: 'one', queue, full }), is))

  const served: readonly [what: string, mail: Mail | undefined, full: Limit | null, is: Admission][] = [
    ['with room', waits, null, 'admitted'],
    ['to an inbox with three', waits, 'inbox', 'inbox'],
    ['to a full domain', waits, 'domain', 'domain'],
    ['while the service is full', waits, 'service', 'service'],
    ['that another worker has admitted', free, null, 'gone'],
    ['that is being sent', held, null, 'gone'],
    ['that is gone', undefined, null, 'gone'],
  ]
  for (const [what, mail, full, is] of served)
    test(`that waited, ${what}: ${is}`, () =>
      assert.equal(admissionOf(mail, { claim: null, queue: null, full }), is))
})

describe('The event of a failed mail', () => {
  const cases: readonly [kind: Mail['kind'], session: string, names: string | null][] = [
    [null, 's', 's'],
    ['code', 's', 's'],
    [null, '', null],
    ['address-code', 's', null],
    ['address-in-use', 's', null],
    ['step-up-code', 's', null],
  ]
  for (const [kind, session_id, names] of cases)
    test(`names ${names ?? 'no session'} for ${kind ?? 'a mail of no kind yet'} of '${session_id}'`, () => {
      assert.equal(sessionToName({ kind, session_id }), names)
    })
})

/** The first limit that has no room, with the times of each by its name. */
function fullOf(mail: StrangersMail, times: { readonly [Name in Limit]?: string }): Limit | null {
  const full = strangersQuotas(mail).find(
    (quota) => !hasRoom(quota, new Map([[quota.key, times[quota.name] ?? '']]), start),
  )
  return full?.name ?? null
}

const mailTo = (to: Partial<StrangersMail> = {}): StrangersMail => ({
  inbox: 'inbox',
  domain: 'domain',
  isKnown: false,
  hasCode: true,
  ...to,
})

describe('Mails to strangers', () => {
  const perHour: readonly [
    what: string,
    mail: Partial<StrangersMail>,
    full: Limit,
    max: number,
    windowMs: number,
  ][] = [
    ['over all domains', {}, 'service', 2_000, hour],
    ['over all domains, without a code', { hasCode: false }, 'service', 1_000, hour],
    ['to one domain', {}, 'domain', 200, hour],
    ['to one domain, without a code', { hasCode: false }, 'domain', 100, hour],
    ['to one that the school uses', { isKnown: true }, 'domain', 2_000, hour],
    ['to one that the school uses, without a code', { isKnown: true, hasCode: false }, 'domain', 1_000, hour],
    ['to one inbox', {}, 'inbox', 3, day],
  ]
  for (const [what, to, name, max, windowMs] of perHour)
    test(`${what} are ${max} in ${windowMs / hour} h`, () => {
      const full = (n: number, age: number) => fullOf(mailTo(to), { [name]: String(start - age).repeat(n) })
      assert.equal(full(max - 1, 0), null)
      assert.equal(full(max, 0), name)
      assert.equal(full(max, windowMs - 1), name)
      assert.equal(full(max, windowMs), null)
    })

  test('without a code do not count for the inbox', () => {
    const quotas = strangersQuotas(mailTo({ hasCode: false }))
    assert.deepEqual(
      quotas.map(({ name }) => name),
      ['service', 'domain'],
    )
  })

  test('are refused for the inbox first, because waiting does not help there', () => {
    const all = String(start).repeat(2_000)
    const times = { inbox: all, service: all, domain: all }
    assert.equal(fullOf(mailTo(), times), 'inbox')
    assert.equal(fullOf(mailTo({ hasCode: false }), times), 'service')
    assert.equal(fullOf(mailTo(), { ...times, inbox: '' }), 'service')
    assert.equal(fullOf(mailTo(), { domain: all }), 'domain')
  })

  test('are never more than they may be in any hour, or in any day to one inbox', () => {
    const crowd = fc.record({
      afterMs: fc.integer({ min: 0, max: 20 * minute }),
      count: fc.integer({ min: 1, max: 700 }),
      domain: fc.integer({ min: 0, max: 3 }),
      inboxes: fc.constantFrom(1, 40, 1_000),
      hasCode: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(crowd, { minLength: 3, maxLength: 12 }), (crowds) => {
        const rows = new Map<string, string>()
        const taken = new Map<string, number[]>()
        let now = start
        for (const { afterMs, count, domain, inboxes, hasCode } of crowds) {
          now += afterMs
          for (let i = 0; i < count; i++) {
            const to = { inbox: `inbox${i % inboxes}`, domain: `domain${domain}`, isKnown: domain === 0 }
            const quotas = strangersQuotas({ ...to, hasCode })
            if (!quotas.every((quota) => hasRoom(quota, rows, now))) continue
            for (const quota of quotas) {
              rows.set(quota.key, String(countAfter(quota, rows, now)))
              taken.set(quota.key, [...(taken.get(quota.key) ?? []), now])
            }
          }
        }
        for (const [key, times] of taken) {
          const [max, windowMs] = key.startsWith('first:') ? [3, day] : [maxOf(key), hour]
          for (const [i, at] of times.entries())
            assert.ok(i < max || at - times[i - max]! >= windowMs, `${key} has more than ${max}`)
        }
      }),
      { numRuns: 15 },
    )
  })
})

const { service, domain, knownDomain } = strangersMails
const maxOf = (key: string) =>
  key === 'mails:service' ? service : key === 'mails:domain0' ? knownDomain : domain
