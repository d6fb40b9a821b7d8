/** The roster as staff upload it. */

import { packZip } from './roster-files.ts'
import { bulkFiles, type School } from './roster-school.ts'
import type { Calls, Reply } from './service.ts'
import { until } from './wait.ts'
import { wire } from './wire.ts'

export const zipOf = (school: School): Promise<Buffer> => packZip(bulkFiles(school))

export function upload(
  { url }: { readonly url: string },
  token: string,
  body: Buffer,
  { query = '', headers = {}, chunked = false } = {},
): Promise<Reply> {
  return wire(url, `/staff/roster/plans${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/zip', ...headers },
    body,
    chunked,
  })
}

export const planPath = (planId: string) => `/staff/roster/plans/${planId}`

export function apply(
  { request }: Pick<Calls, 'request'>,
  token: string,
  planId: string,
  allow: readonly string[] = [],
): Promise<Reply> {
  return request(`${planPath(planId)}/apply`, { token, body: { allow } })
}

/** The plan, once its import is over. */
export async function whenOver(
  { request }: Pick<Calls, 'request'>,
  token: string,
  planId: string,
): Promise<Reply['json']> {
  const { json } = await until(
    () => request(planPath(planId), { token }),
    ({ status, json: plan }) => status !== 200 || plan.state !== 'applying',
  )
  return json
}
