/** Times as operators and programs write them. What is not clearly a time is refused, and not guessed. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { UsageError } from '../src/errors.ts'
import { timeFrom } from '../src/operate/commands/command.ts'
import { durationFrom, instantFrom } from '../src/platform/lib/time-text.ts'
import { commandFolder } from './support/child.ts'
import { run } from './support/roster-commands.ts'

const now = Date.parse('2026-11-15T09:00:00.000Z')

suite('A time is', () => {
  for (const [text, expected] of [
    ['90m', '2026-11-15T07:30:00.000Z'],
    ['36h', '2026-11-13T21:00:00.000Z'],
    ['7d', '2026-11-08T09:00:00.000Z'],
    ['0d', '2026-11-15T09:00:00.000Z'],
    ['2026-11-01', '2026-11-01T00:00:00.000Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
    ['2026-11-01T08:15', '2026-11-01T08:15:00.000Z'],
    ['2026-11-01T08:15Z', '2026-11-01T08:15:00.000Z'],
    ['2026-11-01T08:15:30Z', '2026-11-01T08:15:30.000Z'],
    ['2026-11-01T08:15:30.250Z', '2026-11-01T08:15:30.250Z'],
    ['2026-11-01T08:15+02:00', '2026-11-01T06:15:00.000Z'],
  ] as const)
    test(`${text}: ${expected}`, () => {
      assert.equal(new Date(timeFrom('--since', text, now)).toISOString(), expected)
    })

  test('in UTC without a zone, whatever the zone of the machine', () => {
    const before = process.env.TZ
    process.env.TZ = 'America/Lima'
    try {
      assert.equal(instantFrom('2026-11-01T08:15'), Date.parse('2026-11-01T08:15Z'))
    } finally {
      if (before === undefined) delete process.env.TZ
      else process.env.TZ = before
    }
  })
})

const refused = [
  ...[
    '',
    ' ',
    '7',
    '36',
    '2026',
    '2026-11',
    '0',
    '-7d',
    '+7d',
    '7 d',
    '7D',
    '7w',
    '7s',
    '7days',
    '1.5h',
    '7d ',
  ],
  ...[
    '999999d',
    '20261115',
    '15.11.2026',
    '11/15/2026',
    '2026-11-1',
    '2026-13-01',
    '2026-02-30',
    '2026-02-29',
  ],
  ...['2026-11-15 09:00', '2026-11-15T9:00', '2026-11-15T24:00', '2026-11-15T09:60Z', '2026-11-15T09', 'Z'],
  ...[
    '2026-11-15T09:00 Z',
    '2026-11-15T09:00z',
    '2026-11-15T09:00+2',
    'Nov 15 2026',
    'yesterday',
    'now',
    'NaN',
  ],
]

suite('A time is not', () => {
  for (const text of refused)
    test(JSON.stringify(text), () => {
      assert.equal(durationFrom(text) ?? instantFrom(text), null)
      assert.throws(() => timeFrom('--since', text, now), UsageError)
    })
})

suite('Every command with --since', () => {
  const folder = commandFolder()
  const env = folder.ownStore()
  for (const command of [
    ['events'],
    ['mail', 'list'],
    ['mail', 'show', 'ada@example.org'],
    ['network', '192.0.2.7'],
    ['webhooks', 'replay', 'mwhlt400K7gFvYwT0vJ82A'],
  ])
    test(`refuses a number without a unit, and shows what it takes: ${command.join(' ')}`, async () => {
      const { code, out, err } = await run(folder.path, [...command, '--since', '7'], env)
      assert.deepEqual([code, out], [1, ''])
      assert.match(
        err.split('\n').at(-2)!,
        /^chiron: --since must be a time such as 2026-11-15 or 2026-11-15T09:00Z, or an age such as 7d, 36h or 90m$/,
      )
    })
})
