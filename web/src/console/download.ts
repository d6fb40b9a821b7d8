/** Downloads a file that only this member of staff may read. */
import { asProblem, Problem, problemOf } from '../http.ts'
import { save } from '../parts/save.ts'
import { withToken } from '../session.ts'

export async function download(path: string, name: string): Promise<void> {
  try {
    const reply = await withToken(async (token) => {
      const headers = { Accept: 'text/csv', Authorization: `Bearer ${token}` }
      const answer = await fetch(path, { cache: 'no-store', redirect: 'error', headers }).catch(() => {
        throw new Problem('unreachable')
      })
      if (answer.ok) return answer
      throw problemOf(answer.status, answer.headers.get('Retry-After'), await answer.text())
    })
    save(name, 'text/csv', await reply.blob())
  } catch (error) {
    throw asProblem(error)
  }
}
