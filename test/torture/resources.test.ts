import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { atLength } from '../support/engines.ts'
import { failingDisk, fullDisk, noDescriptors, noMemory } from './resources.ts'

suite('The service', { ...atLength }, () => {
  test('answers 503 while the disk is full, with its log on it, and goes on when there is room', async () => {
    assert.ok((await fullDisk()).refused > 0)
  })
  test('answers 503 while the disk fails, and keeps what it acknowledged after that', async () => {
    assert.ok((await failingDisk()).refused >= 60)
  })
  test('outlives file descriptors that run out', async () => {
    for (const workers of [1, 2] as const) assert.ok((await noDescriptors(workers)).acknowledged > 0)
  })
  test('goes on with one worker while another has no memory, and replaces it', async () => {
    assert.ok((await noMemory()).acknowledged > 0)
  })
})
