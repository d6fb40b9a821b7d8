/** Uploads a file and reports progress, which `fetch` cannot. */
import { asProblem, Problem, problemOf } from '../../http.ts'
import { withToken } from '../../session.ts'
import type { Plan, PlanOptions } from '../roster-replies.ts'

/** The last file, so that it can be read differently without being chosen again. */
let last: { readonly planId: string; readonly file: File } | null = null

export const fileOf = (planId: string): File | null => (last?.planId === planId ? last.file : null)

const mediaTypes: Readonly<Record<string, string>> = {
  zip: 'application/zip',
  csv: 'text/csv',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
}

/** By the name of the file: browsers do not agree on the type of a CSV file. */
export const mediaTypeOf = ({ name }: File): string | undefined =>
  mediaTypes[name.split('.').at(-1)!.toLowerCase()]

/** `onProgress`: 0 to 1. */
export async function uploadRoster(
  file: File,
  options: Partial<PlanOptions>,
  onProgress: (share: number) => void,
): Promise<Plan> {
  const query = new URLSearchParams({ name: file.name })
  for (const [name, value] of Object.entries(options))
    for (const each of [value].flat()) if (each) query.append(name, String(each))
  try {
    const plan = await withToken((token) => post(file, `/staff/roster/plans?${query}`, token, onProgress))
    last = { planId: plan.planId, file }
    return plan
  } catch (error) {
    throw asProblem(error)
  }
}

function post(file: File, path: string, token: string, onProgress: (share: number) => void): Promise<Plan> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', path)
    request.setRequestHeader('Content-Type', mediaTypeOf(file) ?? 'application/zip')
    request.setRequestHeader('Accept', 'application/json')
    request.setRequestHeader('Authorization', `Bearer ${token}`)
    request.upload.addEventListener('progress', ({ loaded, total }) => onProgress(total ? loaded / total : 0))
    request.addEventListener('error', () => reject(new Problem('unreachable')))
    request.addEventListener('load', () => {
      const { status, responseText } = request
      if (status < 300) resolve(JSON.parse(responseText))
      else reject(problemOf(status, request.getResponseHeader('Retry-After'), responseText))
    })
    request.send(file)
  })
}
