import { test } from 'node:test'
import { atLength } from '../support/engines.ts'
import { Interrupter } from './interrupted.ts'

// The long form does it on PostgreSQL as well.
test('Commands that are killed leave nothing half done, and the next try goes on', atLength, async (t) => {
  const interrupter = await Interrupter.start('sqlite')
  t.after(() => interrupter.stop())
  await interrupter.round()
})
