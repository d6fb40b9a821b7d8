/** The roster as staff upload it. */

import { packZip } from './roster-files.ts'
import { bulkFiles, type School } from './roster-school.ts'
import type { Calls, Reply } from './service.ts'
import { until } from './wait.ts'
import { wire } from './wire.ts'

export const zipOf = (school: School): Promise<Buffer> => packZip(bulkFiles(school))

/** Uploads a file and waits until its plan is made; other replies come at once. */
export async function upload(
  service: Uploaded,
  token: string,
  body: Buffer,
  options: UploadOptions = {},
): Promise<Reply> {
  const begun = await beginUpload(service, token, body, options)
  if (begun.status !== 202) return begun
  return { ...begun, json: await whenOver(service, token, begun.json.planId) }
}

type Uploaded = Pick<Calls, 'request'> & { readonly url: string }
type UploadOptions = { query?: string; headers?: Record<string, string>; chunked?: boolean }

export function beginUpload(
  { url }: Pick<Uploaded, 'url'>,
  token: string,
  body: Buffer,
  { query = '', headers = {}, chunked = false }: UploadOptions = {},
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

/** The plan, once it is made, or once its import is over. */
export async function whenOver(
  { request }: Pick<Calls, 'request'>,
  token: string,
  planId: string,
): Promise<Reply['json']> {
  const { json } = await until(
    () => request(planPath(planId), { token }),
    ({ status, json: plan }) => status !== 200 || !['planning', 'applying'].includes(plan.state),
  )
  return json
}
