/** A sign-in from registration to sign-out, with types by openapi-typescript. */
import createClient from 'openapi-fetch'
import type { paths } from '../output/openapi-typescript.js'

export async function signInAndOut(baseUrl: string, email: string, readCode: () => Promise<number>) {
  const client = createClient<paths>({ baseUrl })
  const registered = await client.POST('/veterinarian/register', {
    body: { firstname: 'Ada', lastname: 'Marsh', email },
  })
  const sent = await client.POST('/veterinarian/send-otp', {
    body: { email },
    params: { header: { 'Accept-Language': 'fr', 'API-Version': '1' } },
  })
  if (!sent.data) throw new Error(sent.error.detail)
  const { sessionId } = sent.data
  const wrong = await client.POST('/veterinarian/validate-otp', {
    body: { email, sessionId, otp_code: 99_999_999 },
  })
  const validated = await client.POST('/veterinarian/validate-otp', {
    body: { email, sessionId, otp_code: await readCode() },
  })
  if (!validated.data) throw new Error(validated.error.code)
  const { refresh_token } = validated.data
  const refreshed = await client.POST('/session/refresh', { body: { refresh_token } })
  if (!refreshed.data) throw new Error('not refreshed')
  const headers = { Authorization: `Bearer ${refreshed.data.access_token}` }
  const me = await client.GET('/veterinarian/me', { headers })
  const out = await client.DELETE('/session', { headers })
  const after = await client.GET('/veterinarian/me', { headers })
  return {
    statuses: [registered, sent, wrong, validated, refreshed, me, out, after].map(
      ({ response }) => response.status,
    ),
    attemptsLeft: wrong.error?.attemptsLeft,
    email: me.data?.email,
    code: after.error?.code,
  }
}
