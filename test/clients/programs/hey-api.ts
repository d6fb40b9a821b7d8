/** The same with a client by @hey-api/openapi-ts, where every operation is a function. */
import { createClient } from '../output/hey-api/client/index.js'
import {
  endSession,
  getOwnVeterinarian,
  listStudents,
  refreshSession,
  registerVeterinarian,
  sendVeterinarianCode,
  validateVeterinarianCode,
} from '../output/hey-api/index.js'

export async function signInAndOut(baseUrl: string, email: string, readCode: () => Promise<number>) {
  let token = ''
  const client = createClient({ baseUrl, auth: () => token })
  const registered = await registerVeterinarian({
    client,
    body: { firstname: 'Ada', lastname: 'Marsh', email },
  })
  const sent = await sendVeterinarianCode({
    client,
    body: { email },
    headers: { 'Accept-Language': 'fr', 'API-Version': '1' },
  })
  if (!sent.data) throw new Error(sent.error.detail)
  const { sessionId } = sent.data
  const wrong = await validateVeterinarianCode({ client, body: { email, sessionId, otp_code: 99_999_999 } })
  const validated = await validateVeterinarianCode({
    client,
    body: { email, sessionId, otp_code: await readCode() },
  })
  if (!validated.data) throw new Error(validated.error.code)
  const { refresh_token } = validated.data
  const refreshed = await refreshSession({ client, body: { refresh_token } })
  if (!refreshed.data) throw new Error('not refreshed')
  token = refreshed.data.access_token
  const me = await getOwnVeterinarian({ client })
  const out = await endSession({ client })
  const after = await getOwnVeterinarian({ client })
  return {
    statuses: [registered, sent, wrong, validated, refreshed, me, out, after].map(
      ({ response }) => response?.status,
    ),
    attemptsLeft: wrong.error?.attemptsLeft,
    email: me.data?.email,
    code: after.error?.code,
  }
}

export async function readStudents(baseUrl: string, token: string) {
  const client = createClient({ baseUrl, auth: () => token })
  const [userIds, pagesMs]: [string[], number[]] = [[], []]
  for (let after: string | null = ''; after !== null; ) {
    const since = performance.now()
    const query: { limit: number; after?: string } = { limit: 1_000, ...(after !== '' && { after }) }
    const { data, error } = await listStudents({ client, query })
    if (!data) throw new Error(error?.detail)
    pagesMs.push(performance.now() - since)
    for (const { userId } of data.students) userIds.push(userId)
    after = data.next
  }
  return { userIds, pagesMs }
}
