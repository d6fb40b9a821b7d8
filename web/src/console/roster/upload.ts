/** Sends a file and tells how much of it has arrived, which `fetch` cannot. */
import { asProblem, Problem, problemOf } from '../../http.ts'
import { withToken } from '../../session.ts'
import type { Plan } from './replies.ts'

const plansPath = '/staff/roster/plans'

/** `onProgress`: 0 to 1; 1 while the service reads the file. */
export function uploadRoster(file: File, onProgress: (share: number) => void): Promise<Plan> {
  return withToken((token) => post(file, token, onProgress)).catch((error) => {
    throw asProblem(error)
  })
}

function post(file: File, token: string, onProgress: (share: number) => void): Promise<Plan> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', plansPath)
    request.setRequestHeader('Content-Type', 'application/zip')
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
