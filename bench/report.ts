/** The figures as JSON, as Markdown and as a chart, and in short for a terminal. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { chart } from './chart.ts'
import type { Results } from './measure.ts'
import type { Spread } from './statistics.ts'
import type { Row } from './sweep.ts'
import { type Target, targets } from './targets.ts'

const file = (extension: string) =>
  fileURLToPath(new URL(`../docs/performance.${extension}`, import.meta.url))

export function kept(): Results {
  return JSON.parse(readFileSync(file('json'), 'utf8'))
}

export function write(results: Results): void {
  writeFileSync(file('json'), `${JSON.stringify(results, rounded, 2)}\n`)
  writeFileSync(file('md'), markdown(results))
  writeFileSync(file('svg'), chart(results))
}

export function print(results: Results): void {
  process.stdout.write(`${rowsTable(results.rows)}\n${restOf(results)}\n${targetsTable(results)}`)
}

/** More digits than a figure has are noise in a diff. */
function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(4)) : value
}

const whole = (value: number) => Math.round(value).toLocaleString('en')
const count = (value: number) => value.toLocaleString('en')
const digits = (value: number) => (value >= 100 ? whole(value) : value.toPrecision(value >= 1 ? 3 : 2))
const orDash = (value: number | null | undefined, text: (value: number) => string = digits) =>
  value === null || value === undefined ? '–' : text(value)
const ranged = (value: Spread | null | undefined, text: (value: number) => string = digits) =>
  value ? `${text(value.median)} (${text(value.q1)}–${text(value.q3)})` : 'failed'

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i]!.length)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |\n`
  return line(head) + line(widths.map((width) => '-'.repeat(width))) + rows.map(line).join('')
}

function rowsTable(rows: readonly Row[]): string {
  const head = [
    ...['', 'engine', 'accounts', 'a second', 'ratio', 'by CPU', 'CPU µs', 'p50 ms', 'p99 ms'],
    ...['CPU: server', 'load', 'store', 'MB'],
  ]
  return table(
    head,
    rows.map((row) => [
      row.name,
      row.engine ?? '',
      orDash(row.accounts, count),
      ranged(row.perSecond, whole),
      ranged(row.ratio),
      orDash(row.ratioByCpu?.median),
      orDash(row.cpuMicros),
      orDash(row.p50Ms),
      orDash(row.p99Ms),
      orDash(row.cpu?.server),
      orDash(row.cpu?.load),
      orDash(row.cpu?.store),
      whole(row.memoryMb),
    ]),
  )
}

function targetsTable(results: Results): string {
  const verdict = ({ met, measured, wanted }: Target) => {
    if (met) return 'met'
    if (measured === null) return 'not measured'
    return `missed by ${digits(Math.abs(measured / wanted - 1) * 100)} %`
  }
  const sign = { 'at least': '≥', 'at most': '≤' }
  return table(
    ['', 'engine', 'target', 'measured', ''],
    targets(results).map((target) => [
      target.name,
      target.engine,
      `${sign[target.direction]} ${count(target.wanted)} ${target.unit}`.trim(),
      orDash(target.measured),
      verdict(target),
    ]),
  )
}

function restOf(results: Results): string {
  const comparisons = table(
    ['one against the other', 'ratio'],
    Object.entries(results.comparisons).map(([name, ratio]) => [name, ranged(ratio)]),
  )
  const workers = table(
    [
      'both cores, shared with the load',
      'engine',
      'workers',
      'a second',
      'CPU: server',
      'load',
      'store',
      'MB',
    ],
    results.workers.map((row) => [
      row.name,
      row.engine!,
      row.id.includes('two workers') ? '2' : '1',
      ranged(row.perSecond, whole),
      orDash(row.cpu?.server),
      orDash(row.cpu?.load),
      orDash(row.cpu?.store),
      whole(row.memoryMb),
    ]),
  )
  const half = table(
    ['at half of full load', 'a second', 'p50 ms', 'p99 ms'],
    results.halfLoad.map((load) => [load.id, whole(load.perSecond), digits(load.p50Ms), digits(load.p99Ms)]),
  )
  const once = table(
    ['', ...results.once.map(({ engine }) => engine)],
    [
      ['roster import, rows/s', ...results.once.map((one) => whole(one.rosterRowsPerSecond))],
      ['start to first 200, as installed, ms', ...results.once.map((one) => whole(one.startMs))],
      [
        'start to first 200, nothing compiled before, ms',
        ...results.once.map((one) => whole(one.uncompiledStartMs)),
      ],
      ['idle memory, MB', ...results.once.map((one) => whole(one.idleMb))],
      ['memory after the load, MB', ...results.once.map((one) => whole(one.loadedMb))],
      ['… after so many requests', ...results.once.map((one) => whole(one.loadedAfterRequests))],
    ],
  )
  return [comparisons, workers, half, once].join('\n')
}

function markdown(results: Results): string {
  const { machine, sizes } = results
  const most = count(sizes.accounts.at(-1)!)
  const pinning = machine.pinned
    ? 'The server has one core to itself; load, mail server and PostgreSQL share the other.'
    : 'The machine has one core, or no `taskset`: server, load and store were not kept apart.'
  return `# Performance

Made by \`npm run bench\` on ${results.date}, in ${results.seconds} s. Everything here is written by that command.

${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.system}, Node ${machine.node}.

![Ratios to a bare node:http server](performance.svg)

## Targets

One process on one core.

${targetsTable(results)}
## All figures

*Ratio* is requests a second, divided by those of a bare \`node:http\` server which answers 250 fixed bytes, just before and
after; *by CPU* is the same by processor time of the server alone, and steadier on a machine that does other things too.
How far apart the quartiles of the bare server lie says how steady the machine was; while the sweeps ran, processes that
are no part of this took ${Math.round(results.disturbed * 100)} % of it.
Figures are medians over ${results.sweeps} sweeps, with quartiles in parentheses. *CPU* is seconds of processor time in a second.

${rowsTable(results.rows)}
${restOf(results)}
## How it is measured

- ${pinning} 48 connections, each with one request under way. \`CHIRON_LIMITS=off\` but where the table says otherwise.
- Every case comes up once in each sweep, with the bare server between any two. Servers take turns in
  an order of chance, each with all its cases, after a second to wake up. Stores of all sizes are
  open at once. Before the first sweep every token has been used once.
- ${most} veterinarians, ${count(sizes.students)} students with 12 classes each, ${count(sizes.tokens)} live sessions of either
  role, from all over the store. Stores with fewer accounts have as many sessions.
- Both engines are durable: SQLite with \`synchronous=FULL\`; PostgreSQL with \`fsync\` and \`synchronous_commit\` on,
  \`shared_buffers=512MB\`, \`max_wal_size=4GB\`.
- A whole sign-in is send-otp, a mail that arrives by SMTP over a socket, and validate-otp with the code from it. Mails leave
  at a moment of chance after the request, by design, so up to 600 sign-ins are under way at once. Latencies are of
  the two requests, not of the mail; at half load each answers up to half a second after the mail. With limits on, every address has a network of its own.
- A refresh rotates: each answer brings the token of the next request. Every registration is a new address.
- Every answer is looked at: its status, and whether it is about the right person. One wrong answer voids a row.
- At half load requests are sent when they are due, at half of the rate measured just before, and latency counts from then.
- Two workers and one are compared with server, load and store sharing both cores.
- The roster comes in by \`chiron roster import\`, from start to end of the command.
- Better Auth has ${count(sizes.peerUsers)} users and ${count(sizes.peerSessions)} sessions; [what else differs](../bench/peers/better-auth/README.md).
`
}
