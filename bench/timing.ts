/**
 * Can an outsider tell known addresses from unknown ones by time? Asks for both in random order over one connection
 * and prints, for each call, the area under the ROC curve: 0.5 is blind.
 *
 *   node bench/timing.ts [requests per class, default 5000] [sqlite | postgres://…]
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../test/support/postgres.ts'
import { startMailServer } from '../test/support/smtp.ts'

const perClass = Number(process.argv[2] ?? 5000)
const knownCount = 200
const folder = mkdtempSync(join(tmpdir(), 'chiron-timing-'))
const port = await freePort()
const mail = await startMailServer()
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const service = spawn(process.execPath, [new URL('../src/main.js', import.meta.url).pathname, 'serve'], {
  cwd: folder,
  stdio: ['ignore', 'ignore', 'inherit'],
  env: {
    ...process.env,
    CHIRON_PORT: String(port),
    CHIRON_LIMITS: 'off',
    CHIRON_SMTP_URL: mail.url,
    CHIRON_DATABASE_URL: process.argv[3]?.startsWith('postgres') ? process.argv[3] : 'sqlite:chiron.db',
  },
})

interface Reply {
  readonly status: number
  readonly body: Record<string, string>
  readonly ms: number
}

function post(path: string, body: object): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const payload = JSON.stringify(body)
    const started = process.hrtime.bigint()
    const sent = httpRequest(
      {
        port,
        path,
        method: 'POST',
        agent,
        headers: { 'content-type': 'application/json', 'content-length': payload.length },
      },
      (reply) => {
        let text = ''
        reply.on('data', (chunk) => {
          text += chunk
        })
        reply.on('end', () => {
          const ms = Number(process.hrtime.bigint() - started) / 1e6
          resolve({ status: reply.statusCode!, body: JSON.parse(text), ms })
        })
      },
    )
    sent.on('error', reject)
    sent.end(payload)
  })
}

async function ready(): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    try {
      if ((await fetch(`http://127.0.0.1:${port}/health/ready`)).ok) return
    } catch {}
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('the service did not start')
}

const knownAddress = (i: number) => `known${i % knownCount}@school.example`
let strangers = 0
const unknownAddress = () => `stranger${strangers++ % knownCount}@school.example`

async function signInAll(): Promise<void> {
  for (let i = 0; i < knownCount; i++) {
    const email = knownAddress(i)
    await post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email })
    const { body } = await post('/veterinarian/send-otp', { email })
    const { code } = await mail.mailTo(email)
    const { status } = await post('/veterinarian/validate-otp', {
      email,
      otp_code: code,
      sessionId: body.sessionId,
    })
    if (status !== 200) throw new Error(`sign-in answered ${status}`)
  }
}

type Ask = (email: string) => Promise<number>

const asks: Record<string, Ask> = {
  register: async (email) =>
    (await post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email })).ms,
  'send-otp': async (email) => (await post('/veterinarian/send-otp', { email })).ms,
  'validate-otp': async (email) => {
    const { body } = await post('/veterinarian/send-otp', { email })
    return (await post('/veterinarian/validate-otp', { email, otp_code: 100000, sessionId: body.sessionId }))
      .ms
  },
}

/** The chance that a known address takes longer than an unknown one. */
function areaUnderCurve(known: number[], unknown: number[]): number {
  const all = [...known.map((ms) => ({ ms, known: true })), ...unknown.map((ms) => ({ ms, known: false }))]
  all.sort((a, b) => a.ms - b.ms)
  let rankSum = 0
  for (const [i, { known: isKnown }] of all.entries()) if (isKnown) rankSum += i + 1
  return (rankSum - (known.length * (known.length + 1)) / 2) / (known.length * unknown.length)
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!

try {
  await ready()
  await signInAll()
  for (const [name, ask] of Object.entries(asks)) {
    const times = { known: [] as number[], unknown: [] as number[] }
    for (let i = 0; i < 300; i++) await ask(i % 2 ? knownAddress(i) : unknownAddress())
    while (times.known.length < perClass || times.unknown.length < perClass) {
      const kind = Math.random() < 0.5 ? 'known' : 'unknown'
      if (times[kind].length === perClass) continue
      times[kind].push(await ask(kind === 'known' ? knownAddress(times.known.length) : unknownAddress()))
    }
    const auc = areaUnderCurve(times.known, times.unknown)
    process.stdout.write(
      `${name.padEnd(13)} AUC ${auc.toFixed(3)}  median known ${median(times.known).toFixed(3)} ms, unknown ${median(times.unknown).toFixed(3)} ms\n`,
    )
  }
} finally {
  const ended = new Promise((resolve) => service.once('exit', resolve))
  service.kill()
  await ended
  await mail.close()
  agent.destroy()
  rmSync(folder, { recursive: true, force: true })
}
