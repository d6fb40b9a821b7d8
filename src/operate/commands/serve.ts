/** `chiron serve`: one process, or a primary that keeps CHIRON_WORKERS of them running. */
import cluster, { type Worker } from 'node:cluster'
import type { Config } from '../../config.ts'
import type { Db } from '../../platform/db/db.ts'
import { migrate } from '../../platform/db/migrate.ts'
import { fileOf, openDb } from '../../platform/db/open.ts'
import { refuseDamaged } from '../../platform/db/sqlite-file.ts'
import { systemClock } from '../../platform/lib/clock.ts'
import { createLog, type Log, logWhatOthersPrint, logWritten } from '../../platform/log.ts'
import { type CommonOptions, configFor } from './command.ts'
import { print } from './output.ts'
import { hasNoSchool } from './store.ts'
import { Supervisor } from './supervisor.ts'

type Demo = readonly { readonly email: string; readonly who: string }[]

const stopWithinMs = 9_500
/** Long enough for a proxy that checks every second and wants two failures. */
const lingerMs = 3_000
const logPatienceMs = 500

export async function serve(options: CommonOptions): Promise<void> {
  const config = configFor(options)
  const pretty = process.stdout.isTTY === true && !options.json
  const log = createLog(pretty)
  logWhatOthersPrint(log)
  const file = fileOf(config.databaseUrl)
  if (cluster.isPrimary && file !== null) refuseDamaged(file)
  // The supervisor does not load the app, to save memory.
  if (config.workers > 1 && cluster.isPrimary) return supervise(config, log, pretty)

  if (cluster.isWorker) return work(config, log)

  const { createApp } = await import('../../app.ts')
  const app = await createApp(config, log)
  onSignals(
    onceOnly(async (signal: Signal) => {
      log.info('stopping')
      await endInTime(app.stop(lingerAt(signal, config)))
    }),
  )
  // The demo school is loaded only outside production, and only if there has never been a roster.
  const first = !config.production && (await hasNoSchool(app.parts.db))
  if (app.parts.metrics && config.metricsPort !== null) {
    const { StoreFigures } = await import('../metrics/figures.ts')
    const figures = new StoreFigures(app.parts.db, systemClock, config.rosterMaxAgeDays)
    const { registry } = app.parts.metrics
    await startMetrics(config, log, async () => `${await registry.metrics()}\n${await figures.text()}`)
  }
  const { port } = await app.listen()
  await makeKeys(app.parts.keys, log)
  announce({ config, port, log, pretty, demo: first ? await demoInto(app.parts.db, config, log) : [] })
}

/** A worker. The primary tells it to drain, and to close once all are drained; until then each answers 503. */
async function work(config: Config, log: Log): Promise<void> {
  // The primary may be gone before it receives a message; `disconnect` then ends this worker.
  cluster.worker?.on('error', () => {})
  // A signal to the process group must not end a worker before the primary says so.
  onSignals(() => {})
  const starting = import('../../app.ts').then(({ createApp }) => createApp(config, log))
  const drain = onceOnly(async (lingerMs: number) => {
    await (await starting).drain(lingerMs)
    process.send?.('drained')
  })
  const close = onceOnly(async () => endInTime((await starting).stop()))
  process.on('message', (message) => {
    if (isDrain(message)) drain(message.drain)
    if (message === 'close') close()
  })
  process.on('disconnect', close)
  const app = await starting
  if (app.parts.metrics) (await import('../metrics/workers.ts')).answerPrimary(app.parts.metrics.registry)
  await app.listen()
  await makeKeys(app.parts.keys, log)
  process.send?.('ready')
}

/** Makes the keys that the start did not wait for. If that fails the service goes on, and the sweeper tries again. */
async function makeKeys(keys: { rotateIfDue(): Promise<void> }, log: Log): Promise<void> {
  try {
    await keys.rotateIfDue()
  } catch (error) {
    log.warn({ err: error }, 'signing keys could not be made; this is tried again every minute')
  }
}

async function supervise(config: Config, log: Log, pretty: boolean): Promise<void> {
  const db = openDb(config.databaseUrl)
  await migrate(db, systemClock, (line) => log.info(line))
  const demo = !config.production && (await hasNoSchool(db)) ? await demoInto(db, config, log) : []
  await db.close()

  const workers = new Set<Worker>()
  const supervisor = new Supervisor({
    ...{ workers, log },
    count: config.workers,
    allReady: () => announce({ config, port: config.port, log, pretty, demo }),
    metrics: config.metricsPort === null ? null : await gatherMetrics(config, log, workers),
  })
  onSignals(onceOnly(async (signal: Signal) => supervisor.stop(lingerAt(signal, config), stopWithinMs + 250)))
  supervisor.start()
}

async function startMetrics(config: Config, log: Log, text: () => Promise<string>): Promise<void> {
  const { serveMetrics } = await import('../metrics/server.ts')
  await serveMetrics({ host: config.host, port: config.metricsPort! }, text, log)
}

/** The primary answers for all workers, and reads the store once for all. */
async function gatherMetrics(config: Config, log: Log, workers: ReadonlySet<Worker>) {
  const { StoreFigures } = await import('../metrics/figures.ts')
  const { WorkerMetrics } = await import('../metrics/workers.ts')
  const figures = new StoreFigures(openDb(config.databaseUrl), systemClock, config.rosterMaxAgeDays)
  const sums = new WorkerMetrics()
  await startMetrics(config, log, async () => `${await sums.text(workers)}\n${await figures.text()}`)
  return { added: (worker: Worker) => sums.add(worker), restarted: () => figures.workerRestarted() }
}

function isDrain(message: unknown): message is { drain: number } {
  return typeof message === 'object' && message !== null && 'drain' in message
}

/** Its code is loaded only when needed. */
async function demoInto(db: Db, config: Config, log: Log): Promise<Demo> {
  const { loadDemo } = await import('./demo.ts')
  try {
    return await loadDemo(db, config, systemClock)
  } catch (error) {
    log.warn({ err: error }, 'the demo school could not be loaded')
    return []
  }
}

interface Announcement {
  readonly config: Config
  readonly port: number
  readonly log: Log
  readonly pretty: boolean
  readonly demo: Demo
}

function announce({ config, port, log, pretty, demo }: Announcement): void {
  if (config.smtpUrl === null)
    log.info('development: mail is shown at /mailbox instead of being sent; codes appear in this log')
  const url = new URL(config.publicUrl)
  // With CHIRON_PORT=0 the system picks the port, so the public URL cannot contain it.
  const base = config.port === 0 ? `http://localhost:${port}` : url.origin
  if (!pretty) {
    for (const { email, who } of demo)
      log.info({ development: true }, `demo school: sign in as ${email} (${who})`)
    return
  }
  const lines = [
    ['Portal', `${base}/`],
    ['API reference', `${base}/docs`],
    ...(config.smtpUrl === null ? [['Mailbox', `${base}/mailbox`]] : []),
  ]
  const people = demo.map(({ email, who }) => `  ${email.padEnd(40)} ${who}`)
  const school =
    demo.length > 0 ? `\n  A demo school is loaded. People to sign in as:\n${people.join('\n')}\n` : ''
  print(`\n${lines.map(([name, at]) => `  ${name!.padEnd(14)} ${at}`).join('\n')}\n${school}`)
}

type Signal = 'SIGTERM' | 'SIGINT'

function onSignals(handle: (signal: Signal) => void): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => handle(signal))
}

/** On PostgreSQL other processes can take over. With SQLite, or for somebody who presses Ctrl-C, it only takes time. */
function lingerAt(signal: Signal, { databaseUrl }: Config): number {
  return signal === 'SIGTERM' && fileOf(databaseUrl) === null ? lingerMs : 0
}

/** Ends the process in time even if something hangs. */
async function endInTime(stopped: Promise<void>): Promise<never> {
  setTimeout(() => process.exit(0), stopWithinMs).unref()
  await stopped
  await logWritten(logPatienceMs)
  process.exit(0)
}

function onceOnly<Args extends unknown[]>(work: (...args: Args) => Promise<void>): (...args: Args) => void {
  let started = false
  return (...args) => {
    if (started) return
    started = true
    work(...args).catch(() => process.exit(1))
  }
}
