/**
 * Time and memory of imports of a whole school, on both engines:
 *
 *   node bench/rosters.ts [--students 100000] [--enrolments 1000000] [--engine sqlite] [--turnovers 0] [--against REF]
 *
 * An empty store gets the school, then the same rows in another order, then a delta of 100 students, then the whole
 * school again. Each of the --turnovers gives every enrolment a new id; an unchanged import follows them. Figures are
 * those of the command `chiron roster import`; *disk* is its working file. On a shared machine, trust its processor time,
 * not the clock. With --against, each step is also taken by the program of another commit, in a store of its own.
 */
import { spawn } from 'node:child_process'
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { holdCodes } from '../src/school/roster/roster.ts'
import { type Build, buildAt, thisBuild } from './builds.ts'
import { table } from './figures.ts'
import { cpuMicros } from './processes.ts'
import { type SchoolOptions, writeSchoolFolder } from './school.ts'
import { type Engine, engines, postgresStores, type Stores, sqliteStores } from './stores.ts'

const pollMs = 50
const inDelta = { leave: 40, rename: 60 }

const { values } = parseArgs({
  options: {
    students: { type: 'string', default: '100000' },
    enrolments: { type: 'string' },
    engine: { type: 'string' },
    turnovers: { type: 'string', default: '0' },
    against: { type: 'string' },
  },
})
const students = Number(values.students)
const turnovers = Number(values.turnovers)
const school: SchoolOptions = {
  students,
  classes: Math.round(students * 0.075),
  enrolments: Number(values.enrolments ?? students * 10),
  today: new Date().toISOString().slice(0, 10),
}

interface Target {
  readonly build: Build
  readonly store: string
}

/** Imports the file into each store with its program, and returns the rows of the table. */
async function step(title: string, path: string, targets: readonly Target[]): Promise<string[][]> {
  const rows: string[][] = []
  for (const { build, store } of targets) {
    const name = targets.length > 1 ? `${title}, ${build.name}` : title
    rows.push([name, ...(await importing(path, build, store))])
  }
  return rows
}

/** Runs the import in its own process. */
async function importing(path: string, { folder }: Build, store: string): Promise<string[]> {
  const started = performance.now()
  const args = ['roster', 'import', path, '--yes', '--json', '--allow', holdCodes.join(',')]
  const child = spawn(join(folder, 'bin/chiron'), args, {
    env: {
      PATH: process.env.PATH,
      CHIRON_DATABASE_URL: store,
      CHIRON_SECRET: 'only-for-benchmarks'.padEnd(32),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const used = watch(child.pid!)
  const lines = (await text(child.stdout)).trim().split('\n')
  const seconds = (performance.now() - started) / 1000
  const { cpuSeconds, peakMib, diskMib } = used()
  const plan = lines.map((line) => JSON.parse(line)).find(({ type }) => type === 'plan')
  const counts: Record<string, number>[] = Object.values(plan.counts)
  const sum = (name: string) => counts.reduce((total, of) => total + of[name]!, 0)
  const changes = sum('added') + sum('changed') + sum('leaving') + sum('returning')
  const cells = [plan.file.rows, changes, plan.file.rows / seconds, peakMib, diskMib]
  const [rows, changed, perSecond, mib, disk] = cells.map((value) => Math.round(value).toLocaleString('en'))
  const times = [`${cpuSeconds.toFixed(1)} s`, `${seconds.toFixed(1)} s`]
  return [rows!, changed!, ...times, perSecond!, `${mib} MiB`, `${disk} MiB`]
}

/** Processor time, peak memory and the largest working file of a process, until it ends. */
function watch(pid: number): () => { cpuSeconds: number; peakMib: number; diskMib: number } {
  let [cpuSeconds, peakMib, diskMib] = [0, 0, 0]
  const timer = setInterval(() => {
    cpuSeconds = Math.max(cpuSeconds, cpuMicros([pid]) / 1e6)
    try {
      const kib = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
      peakMib = Number(kib ?? peakMib * 1024) / 1024
      diskMib = Math.max(diskMib, workFileOctets(pid) / 2 ** 20)
    } catch {
      // The process has ended.
    }
  }, pollMs)
  return () => {
    clearInterval(timer)
    return { cpuSeconds, peakMib, diskMib }
  }
}

function workFileOctets(pid: number): number {
  const files = readdirSync(`/proc/${pid}/fd`).map((fd) => `/proc/${pid}/fd/${fd}`)
  const ofWork = files.filter((file) => /chiron-work-.*deleted/.test(readlinkSync(file)))
  return ofWork.reduce((octets, file) => octets + statSync(file).size, 0)
}

function rewriteEnrolments(path: string, change: (lines: string[]) => string[]): void {
  const file = join(path, 'enrollments.csv')
  const [header, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n')
  writeFileSync(file, `${[header, ...change(lines)].join('\n')}\n`)
}

async function measure(targets: readonly Target[], folder: string): Promise<void> {
  const [path, delta] = [join(folder, 'school'), join(folder, 'delta')]
  await writeSchoolFolder(path, school)
  const { leave, rename } = inDelta
  await writeSchoolFolder(delta, {
    ...school,
    delta: true,
    leave: leave / students,
    rename: rename / students,
  })
  const rows = [['import', 'rows', 'changes', 'processor', 'clock', 'rows a second', 'memory', 'disk']]
  rows.push(...(await step('first', path, targets)))
  rewriteEnrolments(path, (lines) => lines.reverse())
  rows.push(...(await step('unchanged, other order', path, targets)))
  rows.push(...(await step('delta of 100 students', delta, targets)))
  rows.push(...(await step('whole again', path, targets)))
  for (let nth = 1; nth <= turnovers; nth++) {
    rewriteEnrolments(path, (lines) => lines.map((line) => `${nth % 10}${line}`))
    rows.push(...(await step(`turnover ${nth}`, path, targets)))
  }
  if (turnovers > 0) rows.push(...(await step('unchanged after these', path, targets)))
  process.stdout.write(table(rows))
}

const folder = mkdtempSync(join(tmpdir(), 'chiron-rosters-'))
const builds = [thisBuild]
if (values.against !== undefined) builds.push(await buildAt(values.against, join(folder, 'other')))
const chosen = values.engine === undefined ? engines : [values.engine as Engine]
for (const engine of chosen) {
  const stores: Stores = engine === 'sqlite' ? sqliteStores(folder) : await postgresStores()
  try {
    process.stdout.write(`\n${engine}\n`)
    const targets: Target[] = []
    for (const [i, build] of builds.entries()) {
      await stores.create(`rosters${i}`)
      targets.push({ build, store: stores.url(`rosters${i}`) })
    }
    await measure(targets, folder)
  } finally {
    await stores.close()
  }
}
rmSync(folder, { recursive: true, force: true })
