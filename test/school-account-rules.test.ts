/** The rules of school accounts, a case a line: no database, and no clock. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Person } from '../src/identity/people/people.ts'
import type { Asserted } from '../src/identity/school-account/claims.ts'
import {
  connectionRefusal,
  type Entering,
  entryOf,
  type Match,
  type Matching,
  matchOf,
  trustProblem,
} from '../src/identity/school-account/rules.ts'
import type { Holder, LinkRow } from '../src/identity/school-account/store.ts'

const ada = { id: 'ada', role: 'student', status: 'active', email_key: 'ada@school.example' } as Person
const link: LinkRow = {
  link_id: 'link',
  provider_id: 'school',
  role: 'student',
  subject: 'subject',
  person_id: 'ada',
  email_key: 'ada@school.example',
  student_number: '1815',
  created_at: 0,
  last_used_at: null,
}
const evesLink = { ...link, link_id: 'other', person_id: 'eve' }
const otherLink = { ...link, link_id: 'other', subject: 'another' }

describe('Whom the claims name', () => {
  const claims: Asserted = {
    subject: 'subject',
    number: '1815',
    address: 'ada@school.example',
    ignored: null,
  }
  const first: Matching = {
    role: 'student',
    link: undefined,
    named: ['ada'],
    person: ada,
    numberOnRoster: '1815',
    hasOtherLink: false,
  }
  const linked: Matching = { ...first, link, numberOnRoster: null }
  const suspended = { ...ada, status: 'suspended' } as Person
  const cases: readonly [string, Matching, Partial<Asserted>, string][] = [
    ['one person', first, {}, 'ada'],
    ['one without a number on the roster', { ...first, numberOnRoster: null }, {}, 'ada'],
    ['one by address alone', first, { number: '' }, 'ada'],
    ['one with another number', { ...first, numberOnRoster: '1816' }, {}, 'two-people of ada'],
    ['two people', { ...first, named: ['ada', 'eve'], person: undefined }, {}, 'two-people'],
    ['nobody', { ...first, named: [], person: undefined }, {}, 'nobody'],
    [
      'nobody, with an address in no domain of the school',
      { ...first, named: [], person: undefined },
      { ignored: 'address-domain' },
      'address-domain',
    ],
    [
      'nobody, with an address that is not verified',
      { ...first, named: [], person: undefined },
      { ignored: 'address-unverified' },
      'address-unverified',
    ],
    ['somebody who has another account', { ...first, hasOtherLink: true }, {}, 'other-account of ada'],
    ['somebody who is suspended', { ...first, person: suspended }, {}, 'not-active of ada'],
    [
      'a suspended person with another number',
      { ...first, person: suspended, numberOnRoster: '1' },
      {},
      'two-people of ada',
    ],
    ['staff who have not connected it', { ...first, role: 'staff' }, {}, 'not-connected'],
    ['staff who have', { ...linked, role: 'staff' }, {}, 'ada'],
    ['who has the link', linked, {}, 'ada'],
    ['nobody, but there is a link', { ...linked, named: [] }, {}, 'ada'],
    ['another than the link', { ...linked, named: ['eve'] }, {}, 'two-people of ada'],
    ['another beside the link', { ...linked, named: ['ada', 'eve'] }, {}, 'two-people of ada'],
    ['somebody who is gone', { ...linked, person: undefined }, {}, 'not-active'],
    ['a suspended person with a link', { ...linked, person: suspended }, {}, 'not-active of ada'],
  ]
  for (const [what, matching, asserted, expected] of cases)
    test(`${what}: ${expected}`, () => {
      const match = matchOf(matching, { ...claims, ...asserted })
      if (match.is === 'refused') {
        const { reason, personId } = match
        assert.equal(personId === undefined ? reason : `${reason} of ${personId}`, expected)
      } else {
        assert.equal(match.person.id, expected)
        assert.equal(match.hasLink, matching.link !== undefined)
        assert.equal(match.isNamed, matching.named.length > 0)
      }
    })
})

const holder: Holder = { status: 'active', email_key: 'ada@school.example', student_number: '1815' }
const open: Entering = { holder, links: [], isOpen: true }

describe('Somebody whom an answer has named', () => {
  const first: Match = { is: 'matched', person: ada, hasLink: false, isNamed: true }
  const again: Match = { ...first, hasLink: true }
  const unnamed: Match = { ...again, isNamed: false }
  const has = { links: [link] }
  const moved = { ...holder, email_key: 'moved@school.example' }
  const another = { ...moved, student_number: '1816' }
  const withoutNumber = { ...moved, student_number: null }
  const unnumbered = { links: [{ ...link, student_number: null }], holder: withoutNumber }
  const cases: readonly [string, Partial<Entering>, Match, string][] = [
    ['for the first time gets a link', {}, first, 'new'],
    ['for the first time, twice at once, enters', has, first, 'linked'],
    ['again enters', has, again, 'linked'],
    ['by a link alone enters', has, unnamed, 'linked'],
    ['by a link alone, with another address', { ...has, holder: moved }, unnamed, 'linked'],
    [
      'by a link alone, with another address and number',
      { ...has, holder: another },
      unnamed,
      'outdated-link',
    ],
    ['by a link alone, with another address and no number', unnumbered, unnamed, 'outdated-link'],
    ['again, with another address and number', { ...has, holder: another }, again, 'linked'],
    ['while the link goes away', {}, again, 'other-account'],
    ['while somebody else gets the link', { links: [evesLink] }, first, 'other-account'],
    ['whose link went to somebody else', { links: [evesLink] }, again, 'other-account'],
    ['who connects another account meanwhile', { links: [otherLink] }, first, 'other-account'],
    ['who has both', { links: [link, otherLink] }, again, 'other-account'],
    ['who is gone', { ...has, holder: undefined }, again, 'not-active'],
    ['who is suspended', { ...has, holder: { ...holder, status: 'suspended' } }, again, 'not-active'],
    ['at a closed provider', { ...has, isOpen: false }, again, 'closed'],
    ['at a closed provider for the first time', { isOpen: false }, first, 'closed'],
  ]
  for (const [what, found, match, expected] of cases)
    test(`${what}: ${expected}`, () => {
      const entry = entryOf({ ...open, ...found }, match, 'subject')
      assert.equal(entry.is === 'refused' ? entry.reason : entry.is, expected)
    })
})

describe('Somebody who connects an account', () => {
  const cases: readonly [string, Partial<Entering & { isSessionOpen: boolean }>, string[], string | null][] =
    [
      ['gets a link', {}, [], null],
      ['and is named gets a link', {}, ['ada'], null],
      ['of somebody else', {}, ['eve'], 'two-people'],
      ['of two people', {}, ['ada', 'eve'], 'two-people'],
      ['that they have', { links: [link] }, [], 'other-account'],
      ['that somebody else has', { links: [evesLink] }, [], 'other-account'],
      ['and has another', { links: [otherLink] }, [], 'other-account'],
      ['in an ended session', { isSessionOpen: false }, ['eve'], 'session-ended'],
      ['and is gone', { holder: undefined }, [], 'session-ended'],
      ['and is suspended', { holder: { ...holder, status: 'suspended' } }, [], 'not-active'],
      ['at a closed provider', { isOpen: false }, [], 'closed'],
    ]
  for (const [what, found, named, expected] of cases)
    test(`${what}: ${expected}`, () => {
      const refusal = connectionRefusal({ ...open, isSessionOpen: true, ...found }, 'ada', named)
      assert.equal(refusal?.reason ?? null, expected)
    })
})

describe('A provider whose addresses all count', () => {
  const cases = [
    ['oidc', 0, '', null],
    ['entra', 0, '', null],
    ['oidc', 1, 'school.example', null],
    ['oidc', 1, '', 'domains'],
    ['entra', 1, 'school.example', 'trustAddresses'],
    ['google', 1, 'school.example', 'trustAddresses'],
  ] as const
  for (const [kind, trust_addresses, domains, field] of cases)
    test(`${kind} ${trust_addresses} ${domains}: ${field}`, () => {
      assert.equal(trustProblem({ kind, trust_addresses, domains })?.field ?? null, field)
    })
})
