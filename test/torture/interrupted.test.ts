import { suite, test } from 'node:test'
import { atLength, engines } from '../support/engines.ts'
import { Interrupter } from './interrupted.ts'

suite('Commands that are killed', { ...atLength }, () => {
  for (const engine of engines)
    test(`leave nothing half done, and the next try goes on, on ${engine}`, async (t) => {
      const interrupter = await Interrupter.start(engine)
      t.after(() => interrupter.stop())
      await interrupter.round()
    })
})
