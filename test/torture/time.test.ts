import { suite, test } from 'node:test'
import { atLength, engines } from '../support/engines.ts'
import { jumps, standsStill } from './time.ts'

suite('Time', { ...atLength }, () => {
  for (const engine of engines) {
    test(`that passes while the service is stopped is noticed when it goes on, on ${engine}`, () =>
      standsStill(engine))
    test(`that jumps by an hour and back keeps nobody out for an hour, on ${engine}`, () => jumps(engine))
  }
})
