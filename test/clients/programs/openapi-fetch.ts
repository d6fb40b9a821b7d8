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

/** All students as a service reads them: their ids, and how long each page took. */
export async function readStudents(baseUrl: string, token: string) {
  const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } })
  const [userIds, pagesMs]: [string[], number[]] = [[], []]
  for (let after: string | null = ''; after !== null; ) {
    const since = performance.now()
    const query: { limit: number; after?: string } = { limit: 1_000, ...(after !== '' && { after }) }
    const { data, error } = await client.GET('/roster/students', { params: { query } })
    if (!data) throw new Error(error?.detail)
    pagesMs.push(performance.now() - since)
    for (const { userId } of data.students) userIds.push(userId)
    after = data.next
  }
  return { userIds, pagesMs }
}
