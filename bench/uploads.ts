/**
 * Time and memory of a whole school that is uploaded, planned and imported over HTTP, as the console does it:
 *
 *   node bench/uploads.ts [--students 100000] [--enrolments 1000000] [--engine sqlite]
 *
 * Memory is the peak above the service at rest: of the service itself (RSS), and with its child processes (PSS, in which
 * pages that processes share count once). All the while, strangers ask for a code, one after the other: the last columns are
 * what they waited.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Staff } from '../src/identity/staff/staff.ts'
import { openDb } from '../src/platform/db/open.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { systemClock } from '../src/platform/lib/clock.ts'
import { serve, thisBuild } from './builds.ts'
import { table } from './figures.ts'
import { startMail } from './mail.ts'
import { family, residentMb, stopAll } from './processes.ts'
import { type SchoolOptions, writeSchoolZip } from './school.ts'
import { type Engine, engines, postgresStores, type Stores, sqliteStores } from './stores.ts'

const pollMs = 50
const restMs = 10_000
const betweenAsksMs = 20
const email = 'registrar@bench.example'

const { values } = parseArgs({
  options: {
    students: { type: 'string', default: '100000' },
    enrolments: { type: 'string' },
    engine: { type: 'string' },
  },
})
const students = Number(values.students)
const school: SchoolOptions = {
  students,
  classes: Math.round(students * 0.075),
  enrolments: Number(values.enrolments ?? students * 10),
  today: new Date().toISOString().slice(0, 10),
}

interface Memory {
  readonly service: number
  readonly all: number
}

function memoryOf(pid: number): Memory {
  const pss = (one: number) => {
    try {
      return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${one}/smaps_rollup`, 'utf8'))?.[1] ?? 0) / 1024
    } catch {
      // The process has ended.
      return 0
    }
  }
  return { service: residentMb([pid]), all: family([pid]).reduce((sum, one) => sum + pss(one), 0) }
}

/** Samples the memory until it is asked for the peak. */
function watch(pid: number): () => Memory {
  let peak: Memory = { service: 0, all: 0 }
  const timer = setInterval(() => {
    const now = memoryOf(pid)
    peak = { service: Math.max(peak.service, now.service), all: Math.max(peak.all, now.all) }
  }, pollMs)
  return () => {
    clearInterval(timer)
    return peak
  }
}

/** Asks for codes until it is asked how long the answers took. */
function askForCodes(port: number): () => Promise<number[]> {
  const times: number[] = []
  let isOver = false
  const asking = (async () => {
    for (let nth = 0; !isOver; nth++) {
      const started = performance.now()
      const reply = await fetch(`http://127.0.0.1:${port}/veterinarian/send-otp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email: `stranger-${nth}@bench.example` }),
      })
      await reply.arrayBuffer()
      if (!reply.ok) throw new Error(`asking for a code: ${reply.status}`)
      times.push(performance.now() - started)
      await sleep(betweenAsksMs)
    }
  })()
  return async () => {
    isOver = true
    await asking
    return times.sort((a, b) => a - b)
  }
}

async function measure(stores: Stores, folder: string): Promise<void> {
  const mail = await startMail()
  const databaseUrl = stores.url('uploads')
  const server = await serve(thisBuild, { databaseUrl, smtpUrl: mail.url, cwd: folder, limits: false })
  const db = openDb(databaseUrl)
  const staff = new Staff({ db, clock: systemClock })
  await staff.add(
    { email, key: email },
    { firstname: 'Grace', lastname: 'Hopper', may: ['registrar'] },
    byOperator,
  )
  await db.close()
  const call = async (path: string, init: RequestInit = {}) => {
    const reply = await fetch(`http://127.0.0.1:${server.port}${path}`, init)
    // biome-ignore lint/suspicious/noExplicitAny: replies are read freely
    const body: any = await reply.json()
    if (!reply.ok) throw new Error(`${path}: ${JSON.stringify(body)}`)
    return body
  }
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    call(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const code = mail.codeFor(email)
  const { sessionId } = await post('/staff/send-otp', { email })
  const answer = { email, sessionId, otp_code: Number(await code) }
  const { access_token: token } = await post('/staff/validate-otp', answer)
  const authorization = `Bearer ${token}`

  const zip = join(folder, 'school.zip')
  await writeSchoolZip(zip, school)
  const rest = memoryOf(server.pid)
  const waits = ['codes', 'median, ms', '99 %, ms', 'longest, ms']
  const rows = [['step', 'clock', 'service above rest', 'with its children', ...waits]]
  const step = async (title: string, work: () => Promise<unknown>) => {
    const started = performance.now()
    const peak = watch(server.pid)
    const waited = askForCodes(server.port)
    await work()
    const { service, all } = peak()
    const mib = (value: number) => `${Math.round(value)} MiB`
    const seconds = (performance.now() - started) / 1000
    const times = await waited()
    const at = (share: number) => times[Math.floor((times.length - 1) * share)]!.toFixed(1)
    const memory = [mib(service - rest.service), mib(all - rest.all)]
    rows.push([title, `${seconds.toFixed(1)} s`, ...memory, String(times.length), at(0.5), at(0.99), at(1)])
  }
  const path = '/staff/roster/plans'
  const whenDone = async (planId: string, busy: string) => {
    for (;;) {
      const plan = await call(`${path}/${planId}`, { headers: { authorization } })
      if (plan.state !== busy) return plan
      await new Promise((resolve) => setTimeout(resolve, 10 * pollMs))
    }
  }
  const upload = async () => {
    const headers = { authorization, 'content-type': 'application/zip' }
    const { planId } = await call(path, { method: 'POST', headers, body: readFileSync(zip) })
    return whenDone(planId, 'planning')
  }
  let plan = { planId: '', state: '', holds: [] as { code: string }[] }
  await step('at rest', () => sleep(restMs))
  await step('upload and plan', async () => {
    plan = await upload()
  })
  await step('discard', async () => {
    const discarded = { method: 'DELETE', headers: { authorization } }
    await fetch(`http://127.0.0.1:${server.port}${path}/${plan.planId}`, discarded)
    await sleep(restMs)
  })
  plan = await upload()
  await step('import', async () => {
    const allow = plan.holds.map(({ code }) => code)
    await post(`${path}/${plan.planId}/apply`, { allow }, { authorization })
    plan = await whenDone(plan.planId, 'applying')
  })
  if (plan.state !== 'applied') throw new Error(`the plan is ${plan.state}`)
  process.stdout.write(`At rest the service takes ${Math.round(rest.service)} MiB.\n\n${table(rows)}`)
  await stopAll()
  mail.close()
}

const folder = mkdtempSync(join(tmpdir(), 'chiron-uploads-'))
const chosen = values.engine === undefined ? engines : [values.engine as Engine]
for (const engine of chosen) {
  const stores: Stores = engine === 'sqlite' ? sqliteStores(folder) : await postgresStores()
  try {
    process.stdout.write(`\n${engine}\n`)
    await stores.create('uploads')
    await measure(stores, folder)
  } finally {
    await stores.close()
  }
}
rmSync(folder, { recursive: true, force: true })
