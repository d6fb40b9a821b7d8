import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../src/errors.ts'
import { parseName } from '../src/identity/people/names.ts'
import { readRefreshToken, refreshToken } from '../src/identity/session/refresh.ts'
import { parseJsonBody } from '../src/platform/http/json.ts'
import { parseAddress } from '../src/platform/lib/address.ts'
import { second } from '../src/platform/lib/clock.ts'
import { codesEqual, type Digits, deriveCode } from '../src/platform/lib/code.ts'
import { deviceOf } from '../src/platform/lib/device.ts'
import { chooseLanguage, isLanguage } from '../src/platform/lib/languages.ts'
import { clientAddress, networkOf, parseRange, type Range } from '../src/platform/lib/network.ts'
import { isId, newId, newReference } from '../src/platform/lib/random.ts'
import { mac, secretsFrom } from '../src/platform/lib/secret.ts'
import {
  alphanumeric,
  anyCharacter,
  anyText,
  hopText,
  id,
  inside,
  json,
  jsonWithTwins,
  nearlyAddress,
  nearlyJson,
  outside,
  userAgents,
  validAddress,
} from './support/arbitraries.ts'
import { atLength } from './support/engines.ts'
import { startService } from './support/service.ts'

const secrets = secretsFrom('a secret for properties, long enough', 'an earlier secret, long enough too')
const keys = secrets.current
describe('An address', () => {
  const accepted = (text: string) => {
    const parsed = parseAddress(text)
    return typeof parsed === 'string' ? null : parsed
  }

  test('that is valid is kept as typed and compared lower-cased', () => {
    fc.assert(
      fc.property(validAddress, (text) => {
        assert.deepEqual(parseAddress(text), { email: text, key: text.toLowerCase() })
        assert.equal(accepted(text.toUpperCase())?.key, text.toLowerCase())
      }),
    )
  })

  test('that is accepted is one plain ASCII address of at most 254 octets, and so is its key', () => {
    fc.assert(
      fc.property(fc.oneof(validAddress, nearlyAddress, anyText), (text) => {
        const address = accepted(text)
        if (!address) return
        assert.match(address.email, /^[\x21-\x7e]+$/)
        assert.equal(address.email.split('@').length, 2)
        assert.ok(Buffer.byteLength(address.email) <= 254)
        const [local, domain] = address.email.split('@') as [string, string]
        assert.ok(local.length <= 64 && domain.includes('.'))
        assert.doesNotMatch(address.email, /[\s"(),:;<>[\]\\]/)
        assert.equal(address.key, address.email.toLowerCase())
        assert.deepEqual(parseAddress(address.email), address)
        assert.equal(accepted(address.key)?.key, address.key)
      }),
      { numRuns: 2_000 },
    )
  })
})

test('A name is kept in NFC, trimmed, of 1 to 100 code points, and is its own name', () => {
  const text = fc.oneof(anyText, fc.string({ unit: 'grapheme', maxLength: 120 }))
  fc.assert(
    fc.property(text, (typed) => {
      const parsed = parseName(typed)
      if (typeof parsed === 'string') return
      const { name } = parsed
      assert.equal(name, name.normalize('NFC'))
      assert.equal(name, name.trim())
      assert.ok([...name].length >= 1 && [...name].length <= 100)
      assert.doesNotMatch(name, /\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u)
      assert.deepEqual(parseName(name), parsed)
    }),
    { numRuns: 2_000 },
  )
})

describe('A code', () => {
  const subject = fc.record({
    role: fc.constantFrom<string>('veterinarian', 'student'),
    sessionId: id,
    addressKey: fc.emailAddress(),
    digits: fc.constantFrom<Digits>(6, 8),
  })
  type Subject = typeof subject extends fc.Arbitrary<infer S> ? S : never
  // One code may equal another by chance; four in a row do not.
  const series = (from: typeof keys, s: Subject) =>
    [0, 1, 2, 3].map((n) => deriveCode(from, { ...s, sessionId: `${s.sessionId}${n}` })).join()

  test('has as many digits as it should, and is the same each time', () => {
    fc.assert(
      fc.property(subject, (s) => {
        const code = deriveCode(keys, s)
        assert.equal(String(code).length, s.digits)
        assert.ok(Number.isInteger(code))
        assert.equal(deriveCode(keys, { ...s }), code)
        assert.ok(codesEqual(code, code) && !codesEqual(code, code + 1))
      }),
    )
  })

  test('is another one when key, role, session, address or length is another', () => {
    fc.assert(
      fc.property(subject, (s) => {
        const code = series(keys, s)
        assert.notEqual(series(secrets.all[1]!, s), code)
        assert.notEqual(series(keys, { ...s, role: `${s.role}x` }), code)
        assert.notEqual(series(keys, { ...s, sessionId: `${s.sessionId}x` }), code)
        assert.notEqual(series(keys, { ...s, addressKey: `x${s.addressKey}` }), code)
        assert.notEqual(series(keys, { ...s, digits: s.digits === 6 ? 8 : 6 }), code)
        assert.notEqual(series({ ...keys, code: keys.refresh }, s), code)
      }),
    )
  })

  test('is any of the 900,000 with equal chance', atLength, () => {
    const bins = new Uint32Array(900)
    const draws = 250_000
    for (let i = 0; i < draws; i++) {
      const code = deriveCode(keys, {
        role: 'veterinarian',
        sessionId: `session-${i}`,
        addressKey: 'ada@vets.example',
        digits: 6,
      })
      bins[Math.floor((code - 100_000) / 1_000)]!++
    }
    const expected = draws / bins.length
    const chiSquare = bins.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
    // 899 degrees of freedom: 99.8 % of fair draws lie between these.
    assert.ok(chiSquare > 773 && chiSquare < 1_035, `chi-square ${chiSquare}`)
  })
})

describe('A refresh token', atLength, () => {
  const ticket = fc.record({ sessionId: id, seq: fc.integer({ min: 1, max: 999_999_999 }) })

  test('says what it stands for, under the present secret and the previous', () => {
    fc.assert(
      fc.property(ticket, fc.constantFrom(...secrets.all), (t, madeWith) => {
        const token = refreshToken(madeWith, t)
        assert.match(token, /^[\w.-]+$/)
        assert.deepEqual(readRefreshToken(secrets.all, token), { ...t })
        assert.equal(readRefreshToken([{ ...keys, refresh: keys.code }], token), null)
      }),
    )
  })

  test('with any one character changed, left out or put in is refused', () => {
    const character = fc.oneof(
      fc.constantFrom(...`${alphanumeric}_-.`),
      fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 }),
    )
    fc.assert(
      fc.property(ticket, fc.nat(), character, fc.nat(2), (t, position, other, change) => {
        const token = refreshToken(keys, t)
        const at = position % token.length
        const end = change === 2 ? at : at + 1
        const changed = token.slice(0, at) + (change === 1 ? '' : other) + token.slice(end)
        if (changed !== token) assert.equal(readRefreshToken(secrets.all, changed), null)
      }),
      { numRuns: 2_000 },
    )
    fc.assert(fc.property(anyText, (text) => assert.equal(readRefreshToken(secrets.all, text), null)))
  })

  test('follows the rules of rotation, grace and reuse in any order of use', async () => {
    const service = await startService('sqlite', { env: { CHIRON_LIMITS: 'off' } })
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ back: fc.constantFrom(0, 0, 0, 1, 1, 2, 2, 3) }) },
      { weight: 2, arbitrary: fc.record({ wait: fc.constantFrom(1, 10, 20, 30, 31) }) },
      { weight: 1, arbitrary: fc.constant({ forge: true as const }) },
    )
    try {
      let people = 0
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
          const { refresh } = await service.signIn(`model${people++}@vets.example`)
          const tokens = [refresh]
          const model = new RefreshModel()
          for (const one of steps) {
            if ('wait' in one) {
              service.clock.advance(one.wait * second)
              continue
            }
            const at = 'back' in one ? Math.max(0, tokens.length - 1 - one.back) : 0
            const token = 'back' in one ? tokens[at]! : forged(tokens[0]!)
            const reply = await service.post('/session/refresh', { refresh_token: token })
            if ('forge' in one) {
              assert.equal(reply.json.code, 'invalid-token')
              continue
            }
            const expected = model.refresh(at, service.clock.now())
            if (expected === 'ended') {
              assert.equal(reply.json.code, 'session-ended')
            } else {
              assert.equal(reply.status, 200)
              if (expected === tokens.length) tokens.push(reply.json.refresh_token)
              assert.equal(reply.json.refresh_token, tokens[expected])
              assert.equal(new Set(tokens).size, tokens.length)
            }
          }
        }),
        { numRuns: 40 },
      )
    } finally {
      await service.stop()
    }
  })
})

/** The contract's rules for refresh tokens, numbered in the order of issue. */
class RefreshModel {
  /** The newest token, and the one that it was given for. */
  #line = [0]
  #given = 0
  #ended = false
  readonly #gaveAt = new Map<number, number>()

  /** The number of the token that comes back. */
  refresh(token: number, now: number): number | 'ended' {
    const place = this.#line.indexOf(token)
    const inGrace = now - (this.#gaveAt.get(token) ?? Number.NEGATIVE_INFINITY) <= 30 * second
    if (this.#ended || place === -1) {
      this.#ended = true
      return 'ended'
    }
    if (place > 0 && inGrace) return this.#line[0]!
    this.#given++
    this.#line = [this.#given, token]
    this.#gaveAt.set(token, now)
    return this.#given
  }
}

describe('A refresh token with two holders', atLength, () => {
  test('ends the session as soon as either comes back after the other was there', async () => {
    const service = await startService('sqlite', { env: { CHIRON_LIMITS: 'off' } })
    const visit = fc.record({ holder: fc.nat(1), wait: fc.integer({ min: 31, max: 3_600 }) })
    try {
      let people = 0
      await fc.assert(
        fc.asyncProperty(fc.array(visit, { minLength: 4, maxLength: 12 }), async (visits) => {
          const { refresh } = await service.signIn(`holders${people++}@vets.example`)
          const held = [refresh, refresh]
          const order: number[] = []
          for (const { holder, wait } of visits) {
            service.clock.advance(wait * second)
            const reply = await service.post('/session/refresh', { refresh_token: held[holder] })
            order.push(holder)
            if (reply.status === 200) held[holder] = reply.json.refresh_token
            // X … Y … X: the second X, at the latest, is one too many.
            const turns = order.filter((one, i) => i > 0 && one !== order[i - 1]).length
            if (turns === 0) assert.equal(reply.status, 200, `${order}`)
            if (turns >= 2) assert.equal(reply.json.code, 'session-ended', `${order}`)
          }
        }),
        { numRuns: 40 },
      )
    } finally {
      await service.stop()
    }
  })
})

/** Changes the last two characters, even if they are already AA. */
const forged = (token: string) => `${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`

describe('The strict JSON reader', () => {
  const read = (text: string) => parseJsonBody(Buffer.from(text))
  const malformed = (error: unknown) => error instanceof AppError && error.code === 'malformed-json'
  test('agrees with JSON.parse on values without duplicates, however they are laid out', () => {
    fc.assert(
      fc.property(json, fc.constantFrom('', ' ', '\t', '\r\n  '), (v, space) => {
        const text = JSON.stringify(v, null, space).replaceAll('\n', space.includes('\r') ? '\r\n' : '\n')
        assert.deepEqual(read(text), JSON.parse(text))
      }),
    )
  })

  test('refuses whatever JSON.parse refuses, and never fails otherwise', () => {
    fc.assert(
      fc.property(fc.oneof(nearlyJson, anyText), (text) => {
        if (!text.isWellFormed() || text.startsWith('\ufeff')) return
        let parses = true
        try {
          JSON.parse(text)
        } catch {
          parses = false
        }
        if (!parses) return void assert.throws(() => read(text), malformed)
        try {
          read(text)
        } catch (error) {
          assert.ok(malformed(error))
        }
      }),
      { numRuns: 1_000 },
    )
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        try {
          parseJsonBody(Buffer.from(bytes))
        } catch (error) {
          assert.ok(malformed(error))
        }
      }),
    )
  })

  test('refuses two members of one name, however deep and however spelt', () => {
    fc.assert(
      fc.property(jsonWithTwins, (text) => {
        assert.doesNotThrow(() => JSON.parse(text))
        assert.throws(() => read(text), malformed)
      }),
    )
  })
})

test('A MAC is another one when bytes move from one part to the next', () => {
  const whole = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
  const cuts = fc.array(fc.nat(30), { maxLength: 4 })
  const split = (text: string, at: readonly number[]) => {
    const letters = [...text]
    const edges = [0, ...at.map((n) => n % (letters.length + 1)).sort((a, b) => a - b), letters.length]
    return edges.slice(1).map((edge, i) => letters.slice(edges[i], edge).join(''))
  }
  fc.assert(
    fc.property(whole, cuts, cuts, (text, one, other) => {
      const [a, b] = [split(text, one), split(text, other)]
      const alike = JSON.stringify(a) === JSON.stringify(b)
      assert.equal(mac(keys.code, ...a).equals(mac(keys.code, ...b)), alike)
      assert.ok(!mac(keys.code, ...a).equals(mac(keys.refresh, ...a)))
    }),
  )
})

test('Ids and references have the shape that the interface promises', () => {
  for (let i = 0; i < 500; i++) {
    assert.ok(isId(newId()))
    assert.match(newReference(), /^[A-Z]{3}$/)
  }
})

test('A language is always one of ours', () => {
  fc.assert(fc.property(anyText, (header) => assert.ok(isLanguage(chooseLanguage(header)))))
})

describe('A network', () => {
  const proxies = ['10.0.0.0/8', '2001:db8:ffff::/48'].map((text) => parseRange(text) as Range)
  test('comes from the peer alone unless the peer is a trusted proxy', () => {
    fc.assert(
      fc.property(outside, anyText, (peer, header) =>
        assert.equal(clientAddress(peer, header, proxies), peer),
      ),
    )
    fc.assert(
      fc.property(anyText, fc.option(anyText), (peer, header) =>
        assert.equal(clientAddress(peer, header ?? undefined, []), peer),
      ),
    )
  })

  test('is the right-most hop that is not trusted, whatever stands left of it', () => {
    fc.assert(
      fc.property(inside, fc.array(hopText), outside, fc.array(inside), (peer, left, client, right) => {
        const header = [...left, client, ...right].join(' , ')
        assert.equal(clientAddress(peer, header, proxies), client)
      }),
    )
  })

  test('is an IPv4 address or an IPv6 /64, however it is written', () => {
    fc.assert(
      fc.property(fc.ipV4(), (ip) => {
        assert.equal(networkOf(ip), ip)
        assert.equal(networkOf(`::ffff:${ip}`), ip)
      }),
    )
    const part = fc.integer({ min: 0, max: 0xffff }).map((n) => n.toString(16))
    const parts = (n: number) => fc.array(part, { minLength: n, maxLength: n })
    fc.assert(
      fc.property(parts(3), parts(4), parts(4), (rest, one, other) => {
        const prefix = ['2001', ...rest]
        const network = networkOf([...prefix, ...one].join(':'))
        assert.match(network, /::\/64$/)
        assert.equal(networkOf([...prefix, ...other].join(':').toUpperCase()), network)
        assert.notEqual(networkOf(['2002', ...rest, ...one].join(':')), network)
      }),
    )
    fc.assert(fc.property(anyText, (text) => assert.equal(typeof networkOf(text), 'string')))
  })
})

test('A device is told by program and system, and by no more', () => {
  for (const [userAgent, device] of userAgents) assert.equal(deviceOf(userAgent), device)
  fc.assert(fc.property(anyText, (text) => assert.match(deviceOf(text), /^[A-Z][\w. ]{0,40}$|^curl/i)))
})
