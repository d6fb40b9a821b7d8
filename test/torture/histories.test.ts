import { suite, test } from 'node:test'
import fc from 'fast-check'
import { atLength, engines } from '../support/engines.ts'
import { histories, Torturer } from './histories.ts'

for (const engine of engines)
  suite(`Histories on ${engine}`, { ...atLength }, () => {
    test('Every answer to a random history is the one that the model gives', async () => {
      const torturer = await Torturer.start(engine)
      try {
        await fc.assert(
          fc.asyncProperty(histories, (history) => torturer.run(history)),
          { numRuns: 60 },
        )
      } finally {
        await torturer.stop()
      }
    })
  })
