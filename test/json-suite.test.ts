import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { after, before, suite, test } from 'node:test'
import { invalid, type JsonText, open, valid } from './support/json-suite.ts'
import { type Service, startService } from './support/service.ts'
import { wire } from './support/wire.ts'

suite('JSON that parsers get wrong', () => {
  let service: Service
  const agent = new Agent({ keepAlive: true })
  before(async () => {
    service = await startService('sqlite', { env: { CHIRON_LIMITS: 'off' } })
  })
  after(async () => {
    agent.destroy()
    await service.stop()
  })

  /** No case is a registration, so one that parses is refused for its content. */
  const codeOf = async (body: JsonText[1]) => {
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body, agent }
    const { status, json } = await wire(service.url, '/veterinarian/register', request)
    assert.equal(status, 400)
    return json.code
  }

  for (const [name, text] of valid)
    test(`${name} is JSON, and judged by what it says`, async () => {
      assert.equal(await codeOf(text), 'invalid-request')
    })

  for (const [name, text] of invalid)
    test(`${name} is not JSON: 400 malformed-json`, async () => {
      assert.equal(await codeOf(text), 'malformed-json')
    })

  for (const [name, text, taken] of open)
    test(`${name} is left open by the standard, and ${taken ? 'taken' : 'refused'} here`, async () => {
      assert.equal(await codeOf(text), taken ? 'invalid-request' : 'malformed-json')
    })
})
