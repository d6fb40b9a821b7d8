/** A DNS server on loopback that knows a few texts, and a resolver that asks it. */
import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { patienceMs } from './wait.ts'

export interface DnsServer {
  readonly resolver: Resolver
  close(): void
}

/** @param texts by name; other names do not exist */
export async function startDns(texts: Record<string, string[]>): Promise<DnsServer> {
  const server = createSocket('udp4')
  server.on('message', (question, peer) => {
    server.send(answerTo(question, texts), peer.port, peer.address)
  })
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve))
  const resolver = new Resolver({ timeout: patienceMs, tries: 1 })
  resolver.setServers([`127.0.0.1:${server.address().port}`])
  return { resolver, close: () => server.close() }
}

const headerBytes = 12
const namePointer = 0xc000 | headerBytes

function answerTo(question: Buffer, texts: Record<string, string[]>): Buffer {
  const labels: string[] = []
  let at = headerBytes
  for (let length = question[at]!; length > 0; length = question[at]!) {
    labels.push(question.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const asked = question.subarray(headerBytes, at + 5)
  const found = texts[labels.join('.').toLowerCase()]
  const header = Buffer.alloc(headerBytes)
  question.copy(header, 0, 0, 2)
  header.writeUInt16BE(found ? 0x8180 : 0x8183, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(found?.length ?? 0, 6)
  return Buffer.concat([header, asked, ...(found ?? []).map(recordOf)])
}

/** A TXT record; a long text is several strings of at most 255 bytes. */
function recordOf(text: string): Buffer {
  const parts = text.match(/.{1,255}/gs) ?? ['']
  const data = Buffer.concat(parts.map((part) => Buffer.from([part.length, ...Buffer.from(part, 'latin1')])))
  const head = Buffer.alloc(12)
  head.writeUInt16BE(namePointer, 0)
  head.writeUInt16BE(16, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(60, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}
