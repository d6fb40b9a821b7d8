/**
 * How fast a roster comes in, and whether a class list minds the size of the school: a generated school is imported
 * twice into each engine, by the command as an operator runs it; then class lists are read from it and from a small
 * school, alternating.
 *
 *   node bench/roster.ts [students, default 20000]
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDb } from '../src/db/open.ts'
import { studentWithClasses } from '../src/student/store.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { writeSchoolZip } from './school.ts'

const students = Number(process.argv[2] ?? 20_000)
const smallStudents = 20
const readsPerRound = 300
const rounds = 15
const folder = mkdtempSync(join(tmpdir(), 'chiron-roster-bench-'))
const today = new Date().toISOString().slice(0, 10)
const zips = { large: join(folder, 'large.zip'), small: join(folder, 'small.zip') }
await writeSchoolZip(zips.large, {
  students,
  classes: Math.ceil(students * 0.075),
  enrolments: students * 10,
  seed: 1,
  today,
})
await writeSchoolZip(zips.small, { students: smallStudents, classes: 60, seed: 1, today })
const postgres = await startPostgres()

const say = (text: string) => process.stdout.write(`${text}\n`)
const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!

function importInto(databaseUrl: string, zip: string, label: string): void {
  const main = new URL('../src/main.ts', import.meta.url).pathname
  const peak =
    "process.on('exit', () => process.stderr.write('peak ' + process.resourceUsage().maxRSS + '\\n'))"
  const preload = `data:text/javascript,${encodeURIComponent(peak)}`
  const started = performance.now()
  const run = spawnSync(
    process.execPath,
    ['--import', preload, main, 'roster', 'import', zip, '--yes', '--json'],
    {
      cwd: folder,
      env: { ...process.env, CHIRON_DATABASE_URL: databaseUrl },
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    },
  )
  const seconds = (performance.now() - started) / 1000
  if (run.status !== 0) throw new Error(run.stderr + run.stdout.slice(-2000))
  const rows = /"rows":(\d+)/.exec(run.stdout)![1]!
  const memory = Math.round(Number(/peak (\d+)/.exec(run.stderr)![1]) / 1024)
  say(
    `${label.padEnd(22)} ${rows} rows in ${seconds.toFixed(1)} s: ${Math.round(Number(rows) / seconds)} rows/s, ${memory} MiB`,
  )
}

/** Milliseconds for a round of class lists, of people all over the school. */
async function readRound(db: ReturnType<typeof openDb>, people: { person_id: string }[]): Promise<number> {
  const started = performance.now()
  for (let i = 0; i < readsPerRound; i++) {
    await studentWithClasses(db, people[(i * 7919) % people.length]!.person_id)
  }
  return (performance.now() - started) / readsPerRound
}

try {
  for (const engine of ['sqlite', 'postgres'] as const) {
    const large = engine === 'sqlite' ? `sqlite:${join(folder, 'large.db')}` : postgres.url('large')
    const small = engine === 'sqlite' ? `sqlite:${join(folder, 'small.db')}` : postgres.url('small')
    if (engine === 'postgres') {
      const admin = openDb(postgres.url('postgres'))
      await admin.run('create database large')
      await admin.run('create database small')
      await admin.close()
    }
    importInto(large, zips.large, `${engine}, first`)
    importInto(large, zips.large, `${engine}, unchanged`)
    importInto(small, zips.small, `${engine}, small`)
    const schools = await Promise.all(
      [large, small].map(async (url) => {
        const db = openDb(url)
        return {
          db,
          people: await db.all<{ person_id: string }>('select person_id from student'),
          times: [] as number[],
        }
      }),
    )
    for (let round = 0; round <= rounds; round++) {
      for (const { db, people, times } of schools) {
        const ms = await readRound(db, people)
        if (round > 0) times.push(ms)
      }
    }
    const [big, little] = schools.map(({ times }) => median(times)) as [number, number]
    say(
      `${engine}, a class list: ${big.toFixed(3)} ms in the large school, ×${(big / little).toFixed(2)} of the small one`,
    )
    for (const { db } of schools) await db.close()
  }
} finally {
  await postgres.remove()
  rmSync(folder, { recursive: true, force: true })
}
