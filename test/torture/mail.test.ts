import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { badManners, oddManners } from '../support/bad-smtp.ts'
import { atLength } from '../support/engines.ts'
import { badServer, longOutage, oddServer, type Running, startWith } from './mail.ts'

// The long form has them; the service waits for them for half a minute, or as for the one that says nothing.
const leftOut = ['says nothing after the mail', 'greets after minutes', 'refuses STARTTLS']

suite('A mail server that', { ...atLength }, () => {
  let running: Running
  before(async () => {
    running = await startWith('sqlite')
  })
  after(() => running.stop())

  for (const manner of badManners)
    if (!leftOut.includes(manner))
      test(`${manner} loses no mail whose code still lives`, () => badServer(running, manner, 3))
  for (const manner of oddManners) test(`${manner} gets each mail once`, () => oddServer(running, manner, 3))
})

test('A mail server that refuses STARTTLS gets no mail', async () => {
  const running = await startWith('sqlite', '0.0.0.0')
  await badServer(running, 'refuses STARTTLS', 1).finally(running.stop)
})

test(
  'A mail server that is down for long gets all mails whose codes still live; the rest is recorded as failed',
  atLength,
  async () => {
    const report = await longOutage('sqlite', 200, 10)
    assert.deepEqual([report.delivered, report.recordedAsFailed], [100, 100])
  },
)
