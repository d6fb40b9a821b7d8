/** A program that receives webhooks or logout tokens on a socket, and answers as a test tells it to. */
import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { eventually } from './wait.ts'

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly path: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read events freely
  readonly event: any
}

type Answer = (response: ServerResponse, request: Received) => void

export interface Receiver {
  readonly url: string
  readonly received: Received[]
  /** How many requests are unanswered, and the most there were at once. */
  readonly open: { now: number; most: number }
  answer: Answer
  /** Waits until this many requests have arrived. */
  until(count: number): Promise<Received[]>
  close(): Promise<void>
}

export const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(code, headers).end()

export async function startReceiver(answer: Answer = status(204)): Promise<Receiver> {
  const received: Received[] = []
  const open = { now: 0, most: 0 }
  const server = createServer(async (request, response) => {
    open.most = Math.max(open.most, ++open.now)
    response.once('close', () => open.now--)
    let body = ''
    for await (const chunk of request) body += chunk
    const one = {
      headers: request.headers,
      body,
      path: request.url ?? '',
      event: body.startsWith('{') ? JSON.parse(body).data : undefined,
    }
    received.push(one)
    receiver.answer(response, one)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    open,
    answer,
    async until(count) {
      await eventually(`${count} requests`, () => received.length >= count)
      return received
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return receiver
}

/** Throws unless the signature is right. The clock of the service must be near the real one. */
export function verify(secret: string, { headers, body }: Received): void {
  new Webhook(secret).verify(body, headers as Record<string, string>)
}

/** Computed without the library that signs. */
export function signatureOf(secret: string, { headers, body }: Received): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
}
