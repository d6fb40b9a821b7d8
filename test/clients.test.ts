/** Whether other people's tools can use the OpenAPI document. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import {
  complaintsAbout,
  generateClients,
  loadProgram,
  programs,
  signedInAndOut,
} from './clients/generators.ts'
import { clashesOf, operationsOfTwoBodies, referencesOfWebhooks } from './clients/names.ts'
import { addClient, serviceToken } from './support/applications.ts'
import { atLength } from './support/engines.ts'
import { freshAddress } from './support/fresh.ts'
import { bulk, newSchool } from './support/roster-school.ts'
import { rosterOf } from './support/roster-world.ts'
import { type Service, startService } from './support/service.ts'

suite('Generated clients', atLength, () => {
  let service: Service
  let document: Record<string, unknown>
  before(async () => {
    service = await startService('sqlite')
    document = (await service.request('/openapi.json')).json
    await generateClients(document)
  })
  after(() => service?.stop())

  for (const name of programs) {
    test(`One by ${name} signs in, refreshes and signs out`, async () => {
      const email = freshAddress('generated')
      const { signInAndOut } = await loadProgram(name)
      const told = await signInAndOut(
        service.url,
        email,
        async () => (await service.mail.mailTo(email)).code!,
      )
      assert.deepEqual(told, signedInAndOut(email))
    })
  }

  test('One by each reads all students, page by page', async () => {
    await rosterOf(service).import(bulk(newSchool(1_200)))
    const token = await serviceToken(service, await addClient(service, { kind: 'service' }), 'roster.read')
    for (const name of programs) {
      const { userIds, pagesMs } = await (await loadProgram(name)).readStudents(service.url, token)
      assert.deepEqual([new Set(userIds).size, userIds.length, pagesMs.length], [1_200, 1_200, 2], name)
    }
  })

  test('Generators for Go and for fetch meet nothing that they cannot compile, and would be told', () => {
    const complaints = (one: object) => [
      ...clashesOf(one),
      ...referencesOfWebhooks(one),
      ...operationsOfTwoBodies(one),
    ]
    assert.deepEqual(complaints(document), [])
    const broken = JSON.parse(JSON.stringify(document))
    const { schemas } = broken.components
    const names = ['NewClient', 'VerificationLost', 'session', 'ListStudentsResponse', 'Required']
    for (const name of names) schemas[name] = schemas.Session
    const event = broken.webhooks['session.started'].post
    event.parameters[0] = { $ref: '#/components/parameters/WebhookId' }
    const { content } = broken.paths['/session/refresh'].post.requestBody
    content['application/x-www-form-urlencoded'].schema = { $ref: '#/components/schemas/RefreshForm' }
    assert.deepEqual(complaints(broken).toSorted(), [
      '#/components/parameters/WebhookId',
      'ListStudentsResponse',
      'NewClient',
      'Required',
      'VerificationLost',
      'refreshSession',
      'session',
    ])
  })

  test('A linter finds nothing to say about the document, and would if there were', async () => {
    assert.deepEqual(await complaintsAbout(document), [])
    const { servers: _servers, ...broken } = document
    assert.match((await complaintsAbout(broken)).join('\n'), /no-empty-servers/)
  })
})
