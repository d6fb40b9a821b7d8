/**
 * The campus minute: a class signs in at once from one network address, against a separate service with a scratch
 * store, its own mail server and production limits.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { counted } from '../../platform/lib/counted.ts'
import { bad, type Finding, good, warning } from './doctor.ts'
import { CodeSink } from './sink.ts'

const main = fileURLToPath(new URL('../../main.js', import.meta.url))
const campus = '198.51.100.7'
const startPatienceMs = 30_000
const mailPatienceMs = 60_000
const minuteMs = 60_000
const slowMs = 2_000

export async function rehearse(people: number, workers: number): Promise<Finding[]> {
  const folder = mkdtempSync(join(tmpdir(), 'chiron-rehearsal-'))
  const sink = new CodeSink()
  const service = startService(folder, await sink.listen(), workers)
  try {
    const client = new Client(await listening(service, workers))
    const addresses = Array.from({ length: people }, (_, i) => `person${i}@rehearsal.example`)
    await inTurns(addresses, 50, (address, i) => client.register(address, i))
    const began = performance.now()
    await Promise.all(addresses.map((address) => client.signIn(address, sink)))
    return report(people, performance.now() - began, client)
  } finally {
    await ended(service)
    sink.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function report(people: number, tookMs: number, { refused, failed, durations }: Client): Finding[] {
  const sorted = durations.toSorted((a, b) => a - b)
  const p99 = Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? 0)
  const seconds = (tookMs / 1000).toFixed(1)
  const figures = `${counted(people, 'person', 'people')} behind one address signed in within ${seconds} s; 99 % of requests took at most ${p99} ms`
  if (refused > 0)
    return [
      bad(
        'rehearsal',
        `${counted(refused, 'request was', 'requests were')} refused by limits`,
        'report this as a bug: the limits must let a class in',
      ),
    ]
  if (failed.length > 0)
    return [
      bad(
        'rehearsal',
        `${counted(failed.length, 'request', 'requests')} failed, first with: ${failed[0]}`,
        'check the resources of this machine',
      ),
    ]
  if (tookMs > minuteMs || p99 > slowMs)
    return [warning('rehearsal', `${figures}; nobody was refused`, 'use a faster machine or more workers')]
  return [good('rehearsal', `${figures}; nobody was refused`)]
}

function startService(folder: string, smtpPort: number, workers: number): ChildProcess {
  const kept = Object.entries(process.env).filter(([name]) => !/^(CHIRON_|OTEL_|NODE_ENV$)/.test(name))
  return spawn(process.execPath, [main, 'serve'], {
    cwd: folder,
    env: {
      ...Object.fromEntries(kept),
      CHIRON_PORT: '0',
      CHIRON_DATABASE_URL: `sqlite:${join(folder, 'chiron.db')}`,
      CHIRON_SMTP_URL: `smtp://127.0.0.1:${smtpPort}`,
      CHIRON_MAIL_DOMAINS: 'rehearsal.example',
      CHIRON_TRUSTED_PROXIES: '127.0.0.1',
      CHIRON_WORKERS: String(workers),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** The port, once all workers listen on it. */
function listening(service: ChildProcess, workers: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let output = ''
    const timer = setTimeout(
      () => reject(new Error('the scratch service did not start in time')),
      startPatienceMs,
    )
    const look = (chunk: Buffer) => {
      output += chunk
      const ports = [...output.matchAll(/listening at http:\/\/127\.0\.0\.1:(\d+)/g)].map(([, port]) =>
        Number(port),
      )
      if (ports.length < workers) return
      clearTimeout(timer)
      resolve(ports[0]!)
    }
    service.stdout!.on('data', look)
    service.stderr!.on('data', (chunk) => {
      output += chunk
    })
    service.once('exit', () => {
      clearTimeout(timer)
      reject(new Error(`the scratch service ended: ${output.slice(-300)}`))
    })
  }).then((port) => {
    // The log must be read to the end, or the service would wait.
    service.stdout!.removeAllListeners('data').resume()
    return port as number
  })
}

async function ended(service: ChildProcess): Promise<void> {
  if (service.exitCode !== null) return
  const exit = new Promise((resolve) => service.once('exit', resolve))
  service.kill('SIGTERM')
  await exit
}

async function inTurns<T>(all: readonly T[], size: number, work: (one: T, i: number) => Promise<unknown>) {
  for (let at = 0; at < all.length; at += size)
    await Promise.all(all.slice(at, at + size).map((one, i) => work(one, at + i)))
}

class Client {
  readonly durations: number[] = []
  readonly failed: string[] = []
  refused = 0
  readonly #port: number
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 100 })

  constructor(port: number) {
    this.#port = port
  }

  /** Each from its own network: people register at home. */
  async register(email: string, i: number): Promise<void> {
    const home = `10.${i >> 8}.${i & 255}.1`
    await this.#post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email }, home)
  }

  async signIn(email: string, sink: CodeSink): Promise<void> {
    const mailed = sink.codeFor(email)
    const sent = await this.#timed('/veterinarian/send-otp', { email })
    if (!sent) return
    const code = await withinPatience(mailed)
    if (code === null) return void this.failed.push('a code did not arrive')
    await this.#timed('/veterinarian/validate-otp', { email, otp_code: code, sessionId: sent.sessionId })
  }

  async #timed(path: string, body: object): Promise<{ sessionId?: string } | null> {
    const since = performance.now()
    const { status, text } = await this.#post(path, body, campus)
    this.durations.push(performance.now() - since)
    if (status < 300) return JSON.parse(text)
    if (status === 429) this.refused++
    else this.failed.push(`${path} answered ${status}`)
    return null
  }

  #post(path: string, body: object, network: string): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const headers = { 'Content-Type': 'application/json', 'X-Forwarded-For': network }
      const sent = request(
        { host: '127.0.0.1', port: this.#port, path, method: 'POST', headers, agent: this.#agent },
        (reply) => {
          let text = ''
          reply.on('data', (chunk) => {
            text += chunk
          })
          reply.on('end', () => resolve({ status: reply.statusCode ?? 0, text }))
        },
      )
      sent.on('error', reject)
      sent.end(JSON.stringify(body))
    })
  }
}

async function withinPatience(mailed: Promise<number>): Promise<number | null> {
  let timer: NodeJS.Timeout | undefined
  const patience = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), mailPatienceMs)
  })
  return Promise.race([mailed, patience]).finally(() => clearTimeout(timer))
}
