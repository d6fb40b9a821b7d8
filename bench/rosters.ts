/**
 * How long an import of a whole school takes, and how much memory, on both engines:
 *
 *   node bench/rosters.ts [--students 100000] [--enrolments 1000000] [--engine sqlite] [--turnovers 0] [--readers]
 *
 * First an empty store gets the school; then come the same rows in another order, a delta of 100 students, the same rows
 * again, and with --turnovers so many schools whose enrolments all have new ids, and the last one unchanged. Times are
 * those of the whole command, from its start to its end; where others use the machine too, its processor time says more.
 * With --readers, students ask for their classes meanwhile.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createApp } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { openDb } from '../src/platform/db/open.ts'
import { systemClock } from '../src/platform/lib/clock.ts'
import { type Digits, deriveCode } from '../src/platform/lib/code.ts'
import { secretsFrom } from '../src/platform/lib/secret.ts'
import { createLog } from '../src/platform/log.ts'
import { holdCodes } from '../src/school/roster/roster.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { type SchoolOptions, writeSchoolFolder } from './school.ts'

const secret = 'only-ever-for-benchmarks-on-one-machine'
const readersAtOnce = 4
const readPauseMs = 20
const settleMs = 500
const lookEveryMs = 50
const ticksASecond = 100

const { values } = parseArgs({
  options: {
    students: { type: 'string', default: '100000' },
    enrolments: { type: 'string' },
    engine: { type: 'string' },
    turnovers: { type: 'string', default: '0' },
    readers: { type: 'boolean', default: false },
  },
})

/** The command that a registrar uses, in a process of its own. */
async function step(title: string, path: string, store: string, readers: Readers | null): Promise<void> {
  await readers?.begin()
  const started = performance.now()
  const child = spawn(
    process.execPath,
    [command, 'roster', 'import', path, '--yes', '--json', '--allow', holdCodes.join(',')],
    { env: environment(store), stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const used = watch(child.pid!)
  const lines = (await text(child.stdout)).trim().split('\n')
  const seconds = (performance.now() - started) / 1000
  const { cpuSeconds, peakMb } = used()
  const plan = lines.map((line) => JSON.parse(line)).find(({ type }) => type === 'plan')
  const counts: Record<string, number>[] = Object.values(plan.counts)
  const sum = (name: string) => counts.reduce((total, of) => total + of[name]!, 0)
  const changes = sum('added') + sum('changed') + sum('leaving') + sum('returning')
  const cells = [
    title.padEnd(26),
    `${plan.file.rows} rows`.padStart(14),
    `${seconds.toFixed(1)} s`.padStart(10),
    `${Math.round(plan.file.rows / seconds)} rows/s`.padStart(16),
    `${cpuSeconds.toFixed(1)} s of a core`.padStart(18),
    `${Math.round(peakMb)} MB`.padStart(8),
    `${changes} changes`.padStart(18),
    readers?.end() ?? '',
  ]
  process.stdout.write(`${cells.join('')}\n`)
}

const command = fileURLToPath(new URL('../src/main.js', import.meta.url))
const environment = (store: string) => ({
  PATH: process.env.PATH,
  CHIRON_DATABASE_URL: store,
  CHIRON_SECRET: secret,
})

/** Processor time and the most memory that a process has used; Linux only. */
function watch(pid: number): () => { cpuSeconds: number; peakMb: number } {
  let [cpuSeconds, peakMb] = [0, 0]
  const look = () => {
    try {
      const [, kib] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
      if (kib === undefined) return
      peakMb = Number(kib) / 1024
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
      cpuSeconds = (Number(fields[11]) + Number(fields[12])) / ticksASecond
    } catch {
      // It has ended.
    }
  }
  const timer = setInterval(look, lookEveryMs)
  return () => {
    clearInterval(timer)
    return { cpuSeconds, peakMb }
  }
}

/** Students who ask for their classes, one after the other. */
class Readers {
  readonly #read: () => Promise<void>
  #times: number[] = []
  #running = true
  readonly #loops: Promise<void>[]

  constructor(read: () => Promise<void>) {
    this.#read = read
    this.#loops = Array.from({ length: readersAtOnce }, () => this.#loop())
  }

  async #loop(): Promise<void> {
    while (this.#running) {
      const started = performance.now()
      await this.#read()
      this.#times.push(performance.now() - started)
      await new Promise((resolve) => setTimeout(resolve, readPauseMs))
    }
  }

  /** Forgets what was before, and what the preparations have held up. */
  async begin(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, settleMs))
    this.#times = []
  }

  end(): string {
    const times = this.#times.sort((a, b) => a - b)
    const at = (share: number) => times[Math.floor((times.length - 1) * share)]!.toFixed(1)
    return `   readers: ${times.length} answers, median ${at(0.5)}, 99 % ${at(0.99)}, slowest ${at(1)} ms`
  }

  async stop(): Promise<void> {
    this.#running = false
    await Promise.all(this.#loops)
  }
}

async function withReaders(store: string, work: (readers: Readers) => Promise<void>): Promise<void> {
  const config = loadConfig({ CHIRON_DATABASE_URL: store, CHIRON_SECRET: secret, CHIRON_LIMITS: 'off' })
  const { parts, stop } = await createApp(config, createLog(false, { write() {} }))
  const { app } = parts.server
  const [{ email }] = (await parts.db.all<{ email: string }>(
    "select email from account where role = 'student' and status = 'active' order by id limit 1",
  )) as [{ email: string }]
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const post = async <Reply>(action: string, body: object) => {
    const json = { 'content-type': 'application/json' }
    const asked = { method: 'POST', headers: json, body: JSON.stringify(body) }
    return (await fetch(`${origin}/student/${action}`, asked)).json() as Promise<Reply>
  }
  const { sessionId, digits } = await post<{ sessionId: string; digits: Digits }>('send-otp', { email })
  const subject = { role: 'student', sessionId, addressKey: email.toLowerCase(), digits } as const
  const otp_code = deriveCode(secretsFrom(secret, null).current, subject)
  const answer = { email, otp_code, sessionId }
  const { access_token } = await post<{ access_token: string }>('validate-otp', answer)
  const headers = { authorization: `Bearer ${access_token}` }
  const readers = new Readers(async () => {
    const reply = await fetch(`${origin}/student/me/classes`, { headers })
    const body = await reply.text()
    if (reply.status !== 200) throw new Error(body)
  })
  await work(readers)
  await readers.stop()
  await stop()
}

function inOtherOrder(path: string): void {
  const file = join(path, 'enrollments.csv')
  const [header, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n')
  writeFileSync(file, `${[header, ...lines.reverse()].join('\n')}\n`)
}

async function measure(store: string, folder: string): Promise<void> {
  const students = Number(values.students)
  const enrolments = values.enrolments === undefined ? students * 10 : Number(values.enrolments)
  const today = new Date().toISOString().slice(0, 10)
  const school: SchoolOptions = {
    students,
    classes: Math.round(students * 0.075),
    enrolments,
    seed: 1,
    today,
  }
  const path = join(folder, 'school')
  await writeSchoolFolder(path, school)
  const db = openDb(store)
  await migrate(db, systemClock)
  await db.close()
  await step('first', path, store, null)
  const others = async (readers: Readers | null) => {
    if (readers) {
      await new Promise((resolve) => setTimeout(resolve, 5_000))
      process.stdout.write(`${'nothing'.padEnd(110)}${readers.end()}\n`)
    }
    inOtherOrder(path)
    await step('unchanged, other order', path, store, readers)
    const delta = join(folder, 'delta')
    await writeSchoolFolder(delta, { ...school, delta: true, leave: 40 / students, rename: 60 / students })
    await step('delta of 100 students', delta, store, readers)
    await step('whole again', path, store, readers)
    for (let nth = 1; nth <= Number(values.turnovers); nth++) {
      const file = join(path, 'enrollments.csv')
      const [header, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n')
      writeFileSync(file, `${[header, ...lines.map((line) => `${nth % 10}${line}`)].join('\n')}\n`)
      await step(`turnover ${nth}`, path, store, readers)
    }
    if (Number(values.turnovers) > 0) await step('unchanged after these', path, store, readers)
  }
  if (values.readers) await withReaders(store, others)
  else await others(null)
}

const folder = mkdtempSync(join(tmpdir(), 'chiron-rosters-'))
try {
  for (const engine of values.engine === undefined ? ['sqlite', 'postgres'] : [values.engine]) {
    process.stdout.write(`${engine}\n`)
    if (engine === 'sqlite') await measure(`sqlite:${join(folder, 'chiron.db')}`, folder)
    else {
      const postgres = await startPostgres()
      const admin = openDb(postgres.url('postgres'))
      await admin.run('create database rosters')
      await admin.close()
      await measure(postgres.url('rosters'), folder).finally(() => postgres.remove())
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
