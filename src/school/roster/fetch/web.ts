/** Fetches the zip at an https address, unless the server says that it is the one from last time. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { httpClientFor } from '../../../platform/lib/http-client.ts'
import { isLoopbackHost } from '../../../platform/lib/network.ts'
import { reasonOf } from '../../../platform/lib/reason.ts'
import type { WebSource } from '../source.ts'
import { type Arrival, FetchError, type Patience, patiently, tooLarge, type Wanted } from './arrival.ts'

const redirectsMax = 5
const markCharactersMax = 1_000
const redirects = [301, 302, 303, 307, 308]
const zipTypes = [
  'application/zip',
  'application/x-zip',
  'application/x-zip-compressed',
  'application/octet-stream',
  'application/force-download',
  'application/download',
  'binary/octet-stream',
]

export function takeFromWeb(source: WebSource, { known, folder, limits }: Wanted): Promise<Arrival | null> {
  return patiently(limits, whyNot, async (patience) => {
    const response = await follow(source, known, patience)
    if (response.statusCode === 304 && known !== null) return null
    checkAnswer(response, limits.bytesMax)
    const path = join(folder, 'roster.zip')
    const bytes = await patience.save(response, path)
    const announced = response.headers['content-length']
    if (announced !== undefined && Number(announced) !== bytes) throw new FetchError(cut)
    return {
      path,
      name: nameIn(source.url),
      mark: markOf(response),
      writtenAt: modifiedAt(response),
      async verify() {},
    }
  })
}

/** Credentials are sent only to the configured server. */
async function follow(source: WebSource, known: string | null, patience: Patience): Promise<IncomingMessage> {
  const first = new URL(source.url)
  let url = first
  let credentials = source.credentials
  for (let hops = 0; hops <= redirectsMax; hops++) {
    const headers = { ...usualHeaders, ...conditionsOf(known), ...credentials }
    const response = await patience.for(ask(url, headers, patience.signal))
    if (!redirects.includes(response.statusCode!)) return response
    response.destroy()
    const next = URL.parse(response.headers.location ?? '', url)
    const mayBePlain = first.protocol === 'http:' && next !== null && isLoopbackHost(next.hostname)
    if (next?.protocol !== 'https:' && !(next?.protocol === 'http:' && mayBePlain))
      throw new FetchError('the server redirects to an address that is not https')
    next.username = ''
    next.password = ''
    if (next.origin !== first.origin) credentials = {}
    url = next
  }
  throw new FetchError(`the server redirects more than ${redirectsMax} times`)
}

const usualHeaders = {
  Accept: 'application/zip, */*;q=0.1',
  'Accept-Encoding': 'identity',
  'User-Agent': 'Chiron',
}

async function ask(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<IncomingMessage> {
  const { request } = await httpClientFor(url)
  const asked = request(url, { headers, agent: false, signal })
  const answer = once(asked, 'response')
  // Errors that come after the answer are errors of its stream, too.
  asked.on('error', () => {})
  asked.end()
  return (await answer)[0]
}

/** How the server tells versions of the file apart (RFC 9110 §8.8). */
function markOf({ headers }: IncomingMessage): string | null {
  const { etag, 'last-modified': modified } = headers
  if (etag === undefined && modified === undefined) return null
  const mark = JSON.stringify({ etag, modified })
  return mark.length > markCharactersMax ? null : mark
}

function modifiedAt({ headers }: IncomingMessage): number | null {
  const at = Date.parse(headers['last-modified'] ?? '')
  return Number.isNaN(at) ? null : at
}

function conditionsOf(known: string | null): Record<string, string> {
  if (known === null) return {}
  const { etag, modified } = JSON.parse(known) as { etag?: string; modified?: string }
  if (etag !== undefined) return { 'If-None-Match': etag }
  return modified === undefined ? {} : { 'If-Modified-Since': modified }
}

function checkAnswer(response: IncomingMessage, bytesMax: number): void {
  const { statusCode, headers } = response
  const refuse = (error: FetchError): never => {
    response.destroy()
    throw error
  }
  if (statusCode !== 200) refuse(new FetchError(refusalOf(statusCode!)))
  const [type = ''] = (headers['content-type'] ?? '').split(';')
  if (type !== '' && !zipTypes.includes(type.trim().toLowerCase()))
    refuse(new FetchError(otherThanZip(type.trim().toLowerCase()), 3))
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    refuse(new FetchError('the server compresses the zip again, although it was asked not to', 3))
  if (Number(headers['content-length'] ?? 0) > bytesMax) refuse(tooLarge(bytesMax))
}

function refusalOf(status: number): string {
  if (status === 401 || status === 403)
    return `the server refuses access (${status}): check the user, password or header in the settings`
  if (status === 404 || status === 410) return `there is no file at this address (${status})`
  if (status >= 500) return `the server has an internal error (${status}); try again later`
  return `the server answers with status ${status}`
}

function otherThanZip(type: string): string {
  if (type === 'text/html')
    return 'the server sent a web page instead of a zip, most likely a sign-in page: check the address, user and password in the settings'
  const shown = /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type.slice(0, 100) : 'something unknown'
  return `the server sent ${shown} instead of a zip`
}

/** The last part of the path, if it looks like a file name: anything else may be a secret. */
function nameIn(url: string): string {
  const last = new URL(url).pathname.split('/').at(-1)!
  return /^[\w.~-]{1,100}\.zip$/i.test(last) ? last : 'roster.zip'
}

const cut = 'the connection was cut before the whole file had arrived; try again'

function whyNot(error: unknown): string {
  const { code = '', message = '' } = error as NodeJS.ErrnoException
  if (message === 'aborted' || code === 'ERR_STREAM_PREMATURE_CLOSE') return cut
  if (/CERT|SELF_SIGNED|UNABLE_TO/.test(code))
    return `the server's certificate is not trusted (${message}); to trust your own authority, name its file in NODE_EXTRA_CA_CERTS`
  return reasonOf(error)
}
