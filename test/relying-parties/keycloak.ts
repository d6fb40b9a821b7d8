/** Keycloak as a broker: its own applications sign people in with Chiron. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { cookieFor } from '../support/authorize.ts'
import { startKeycloak } from '../support/keycloak.ts'
import { ok } from '../support/passkeys.ts'
import { sampleIn } from '../support/samples.ts'
import { eventually } from '../support/wait.ts'
import { type Party, type World, works } from './world.ts'

const version = process.env.KEYCLOAK ?? '26.7.3'

async function broker({ service, newSite, newBrowser, setClock }: World): Promise<void> {
  const { base, administer, stop } = await startKeycloak(version)
  const page = createServer((_request, response) => response.end('the application'))
  try {
    page.listen(0, '127.0.0.1')
    await once(page, 'listening')
    const application = `http://127.0.0.1:${(page.address() as AddressInfo).port}/`
    await administer('POST', '', { realm: 'school', enabled: true, sslRequired: 'none' })
    await administer('POST', '/school/clients', {
      ...{ clientId: 'application', publicClient: true, redirectUris: [application] },
    })
    const realm = `${base}/realms/school`
    const { client } = await newSite('', {
      redirectUris: [`${realm}/broker/chiron/endpoint`],
      backchannelUri: `${realm}/protocol/openid-connect/logout/backchannel-logout`,
    })
    const settings = sampleIn('docs/applications.md', 'json', 'providerId')
      .replaceAll('https://access.example.org', service.url)
      .replace('CLIENT_ID', client.id)
      .replace('CLIENT_SECRET', client.secret!)
    await administer('POST', '/school/identity-provider/instances', JSON.parse(settings))

    const found = async <T>(path: string) =>
      (await (await administer('GET', `/school/users${path}`)).json()) as T[]
    const who = await service.signIn('kay@clinic.example')
    const request = new URLSearchParams({
      ...{ client_id: 'application', redirect_uri: application, response_type: 'code' },
      ...{ scope: 'openid', kc_idp_hint: 'chiron' },
    })
    const start = `${realm}/protocol/openid-connect/auth?${request}`
    const cookie = cookieFor(who)
    assert.equal(await newBrowser({ cookie }).open(start), 'the application')
    const [user] = await found<{ id: string; firstName: string; lastName: string; username: string }>(
      '?search=kay',
    )
    assert.ok(user)
    assert.deepEqual(
      [user.firstName, user.lastName, user.username],
      ['Ada', 'Marsh', who.userId.toLowerCase()],
    )
    assert.match(await newBrowser({ declined: true }).open(start), /Access denied/)

    const sessions = () => found(`/${user.id}/sessions`)
    assert.equal((await sessions()).length, 1)
    ok(await service.request('/session', { method: 'DELETE', token: who.access }), 204)
    await eventually('back-channel logout ends the session', async () => {
      setClock()
      return (await sessions()).length === 0
    })
  } finally {
    page.close()
    stop()
  }
}

export const keycloak: Record<string, Party> = {
  Keycloak: { isThere: () => works('java', '-version') && works('mvn', '-version'), signIn: broker },
}
