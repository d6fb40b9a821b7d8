/** The rules of sessions, a case a line: no database, and no clock but the one in the case. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  canRevoke,
  canStartAtClient,
  isAlive,
  isNext,
  keepsSession,
  refreshOf,
  refusalOf,
} from '../src/identity/session/rules.ts'
import { hour, second } from '../src/platform/lib/clock.ts'

const now = Date.parse('2026-11-19T08:00:00Z')
const show = (fields: object) => JSON.stringify(fields)

describe('A session', () => {
  const open = { ended_at: null, expires_at: now + 1 }
  const cases: [
    what: string,
    session: typeof open | { ended_at: number; expires_at: number } | undefined,
    alive: boolean,
  ][] = [
    ['that is open goes on', open, true],
    ['that has expired does not', { ended_at: null, expires_at: now }, false],
    ['that has ended does not', { ...open, ended_at: now - 1 }, false],
    ['that was never there does not', undefined, false],
  ]
  for (const [what, session, alive] of cases) test(what, () => assert.equal(isAlive(session, now), alive))
})

describe('A refresh token', () => {
  const tokens = { refresh_seq: 7, refresh_parent: 5, rotated_at: now - hour }
  const justNow = { ...tokens, refresh_parent: 6, rotated_at: now - 30 * second }
  const cases: [what: string, is: string, session: typeof tokens, seq: number][] = [
    ['that is the newest gives a successor', 'due', tokens, 7],
    ['gives one also right after it was made', 'due', justNow, 7],
    ['that is the predecessor gives the same successor for 30 s', 'repeated', justNow, 6],
    ['gives another one after that', 'due', { ...justNow, rotated_at: now - 30 * second - 1 }, 6],
    ['is reused that was voided by another successor', 'reused', tokens, 6],
    ['is reused that is older than the predecessor', 'reused', tokens, 4],
    ['is reused that is older than the predecessor, however young', 'reused', justNow, 5],
    ['is reused that was never given', 'reused', tokens, 8],
    ['is due that is the first', 'due', { refresh_seq: 1, refresh_parent: 0, rotated_at: 0 }, 1],
  ]
  for (const [what, is, session, seq] of cases)
    test(what, () => assert.equal(refreshOf(session, seq, now).is, is))

  test('that is repeated gives the number of the newest', () => {
    assert.deepEqual(refreshOf(justNow, 6, now), { is: 'repeated', seq: 7 })
  })
})

/** What the store does with what the rule says, for tokens that are presented one after the other. */
class Store {
  #tokens = { refresh_seq: 1, refresh_parent: 0, rotated_at: 0 }
  ended = false

  /** The number of the successor; null if there is none. */
  refresh(seq: number, at: number): number | null {
    if (this.ended) return null
    const refresh = refreshOf(this.#tokens, seq, at)
    if (refresh.is === 'repeated') return refresh.seq
    if (refresh.is === 'reused') {
      this.ended = true
      return null
    }
    const { refresh_seq, refresh_parent } = this.#tokens
    const parent = seq === refresh_seq ? refresh_seq : refresh_parent
    this.#tokens = { refresh_seq: refresh_seq + 1, refresh_parent: parent, rotated_at: at }
    return refresh_seq + 1
  }

  takes(seq: number, at: number): boolean {
    return !this.ended && refreshOf(this.#tokens, seq, at).is !== 'reused'
  }
}

describe('Two holders of one refresh token', () => {
  const step = fc.record({ holder: fc.constantFrom(0, 1), afterMs: fc.integer({ min: 0, max: 70 * second }) })

  test('never both have a successor that lives', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const store = new Store()
        const held = [1, 1]
        /** The token for which a successor was given. */
        const givenFor = new Map<number, number>()
        let at = now
        for (const { holder, afterMs } of steps) {
          at += afterMs
          const successor = store.refresh(held[holder]!, at)
          if (successor === null) break
          if (!givenFor.has(successor)) givenFor.set(successor, held[holder]!)
          held[holder] = successor
          const [one, other] = held as [number, number]
          // They have the same token, or one has the predecessor of the other's, or only one is good for anything.
          const areApart = one !== other && givenFor.get(one) !== other && givenFor.get(other) !== one
          assert.ok(!areApart || !(store.takes(one, at) && store.takes(other, at)), `${one} and ${other}`)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  test('collide once each has used what it got, if not within seconds of each other', () => {
    const slow = fc.record({
      holder: fc.constantFrom(0, 1),
      afterMs: fc.integer({ min: 31 * second, max: hour }),
    })
    fc.assert(
      fc.property(fc.array(slow, { maxLength: 30 }), (steps) => {
        const store = new Store()
        const held = [1, 1]
        const uses = [0, 0]
        let at = now
        for (const { holder, afterMs } of steps) {
          at += afterMs
          const successor = store.refresh(held[holder]!, at)
          if (successor !== null) held[holder] = successor
          uses[holder]!++
          if (store.ended) return
        }
        assert.ok(Math.min(...uses) < 2, `${uses} uses`)
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('At a client', () => {
  const all = ['student', 'staff', 'veterinarian'] as const
  const refusals: [
    roles: string[],
    unverified: boolean | null,
    role: (typeof all)[number],
    verified: boolean,
    why: ReturnType<typeof refusalOf>,
  ][] = [
    [['student'], null, 'student', false, null],
    [['student'], true, 'veterinarian', true, 'role'],
    [['student', 'staff'], false, 'staff', false, null],
    [['veterinarian'], false, 'veterinarian', true, null],
    [['veterinarian'], false, 'veterinarian', false, 'unverified'],
    [['veterinarian'], true, 'veterinarian', false, null],
    [['veterinarian'], null, 'veterinarian', false, null],
    [[], null, 'staff', false, 'role'],
  ]
  for (const [roles, unverifiedVeterinarians, role, verified, why] of refusals) {
    const person = { role, verified_at: verified ? 1 : null }
    test(`that admits ${show({ roles, unverifiedVeterinarians })}, ${show(person)}: ${why ?? 'admitted'}`, () =>
      assert.equal(refusalOf({ roles, unverifiedVeterinarians }, person), why))
  }

  const client = { roles: 'student veterinarian', unverified_veterinarians: 0, disabled_at: null }
  const from = { ended_at: null, expires_at: now + 1, client_id: null, person_id: 'ada' }
  const account = { id: 'ada', role: 'veterinarian', status: 'active', verified_at: 1 }
  const starts: [what: string, can: boolean, fields: object][] = [
    ['somebody who is verified is signed in', true, {}],
    ['a client that is gone signs nobody in', false, { client: undefined }],
    ['one that is disabled signs nobody in', false, { client: { ...client, disabled_at: 1 } }],
    ['one for others signs nobody in', false, { client: { ...client, roles: 'student' } }],
    ['a service signs nobody in', false, { client: { ...client, roles: '' } }],
    ['a session that has ended starts none', false, { from: { ...from, ended_at: 1 } }],
    ['a session that has expired starts none', false, { from: { ...from, expires_at: now } }],
    ['a session at a client starts none', false, { from: { ...from, client_id: 'moodle' } }],
    ['a session of somebody else starts none', false, { from: { ...from, person_id: 'bo' } }],
    ['an account that is suspended starts none', false, { account: { ...account, status: 'suspended' } }],
    [
      'somebody who is not verified any more starts none',
      false,
      { account: { ...account, verified_at: null } },
    ],
    ['a student starts one', true, { account: { ...account, role: 'student', verified_at: null } }],
  ]
  for (const [what, can, fields] of starts)
    test(what, () => assert.equal(canStartAtClient({ from, account, client, ...fields } as never, now), can))

  const ofSession = {
    ...{ ...client, scopes: 'openid profile', is_pairwise: 0, role: 'veterinarian', verified_at: 1 },
    ...{ parent_id: 'portal', parent_ended_at: null, parent_expires_at: now + 1 },
  } as const
  const offline = { parent_id: null, parent_expires_at: null, scopes: 'openid offline_access' }
  const keeps: [what: string, goesOn: boolean, fields: object][] = [
    ['a session goes on with the portal’s', true, {}],
    ['it ends with the portal’s', false, { parent_ended_at: 1 }],
    ['it expires with the portal’s', false, { parent_expires_at: now }],
    ['it is over if the portal’s is gone', false, { parent_expires_at: null }],
    ['an offline session goes on by itself', true, offline],
    ['an offline session is over without the scope', false, { ...offline, scopes: 'openid' }],
    ['a disabled client has none', false, { disabled_at: 1 }],
    ['a client that lost the role has none', false, { roles: 'student' }],
    ['somebody who lost the verification has none', false, { verified_at: null }],
    ['nor offline', false, { ...offline, verified_at: null }],
    ['where nobody has decided they keep it', true, { verified_at: null, unverified_veterinarians: null }],
    ['where they are admitted they keep it', true, { verified_at: null, unverified_veterinarians: 1 }],
  ]
  for (const [what, goesOn, fields] of keeps)
    test(what, () => assert.equal(keepsSession({ ...ofSession, ...fields } as never, now), goesOn))
})

describe('Signing keys', () => {
  const keys = [
    { kid: 'a', number: 3 },
    { kid: 'b', number: 4 },
  ]
  const next: [keys: typeof keys, number: number, is: boolean][] = [
    [[], 1, true],
    [[], 2, false],
    [keys, 5, true],
    [keys, 4, false],
    [keys, 6, false],
  ]
  for (const [present, number, is] of next)
    test(`After ${present.map((key) => key.number).join(', ') || 'none'}, ${number} is ${is ? '' : 'not '}next`, () =>
      assert.equal(isNext(present, { kid: 'c', number }), is))

  const revocations: [what: string, can: boolean, kid: string, signer: string, replacement: number | null][] =
    [
      ['One that does not sign can go', true, 'a', 'b', null],
      ['The one that signs can go with the next', true, 'b', 'c', 5],
      ['One that is gone cannot', false, 'x', 'b', null],
      ['None can go if the one that signs is gone', false, 'a', 'x', null],
      ['None can go if somebody else has added one', false, 'b', 'c', 4],
      ['One that is gone is not replaced', false, 'x', 'c', 5],
    ]
  for (const [what, can, kid, signer, number] of revocations)
    test(what, () => {
      const replacement = number === null ? null : { kid: signer, number }
      assert.equal(canRevoke(keys, { kid, signer, replacement }), can)
    })
})
