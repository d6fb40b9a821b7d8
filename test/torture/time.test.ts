import { suite, test } from 'node:test'
import { atLength } from '../support/engines.ts'
import { jumps, standsStill } from './time.ts'

// The long form does it on PostgreSQL as well.
suite('Time', { ...atLength }, () => {
  test('that passes while the service is stopped is noticed when it goes on', () => standsStill('sqlite'))
  test('that jumps by an hour and back keeps nobody out for an hour', () => jumps('sqlite'))
})
