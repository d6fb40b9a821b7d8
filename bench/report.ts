/** The figures as JSON, as one page of Markdown and as a chart. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { chart } from './chart.ts'
import type { Figure, Results } from './results.ts'
import { difference } from './statistics.ts'
import { targets } from './targets.ts'
import { digits, ranged, table, whole } from './text.ts'

const file = (extension: string) =>
  fileURLToPath(new URL(`../docs/performance.${extension}`, import.meta.url))

export function kept(): Results {
  return JSON.parse(readFileSync(file('json'), 'utf8'))
}

export function write(results: Results): void {
  writeFileSync(file('json'), `${JSON.stringify(results, rounded, 2)}\n`)
  writeFileSync(file('md'), page(results))
  writeFileSync(file('svg'), chart(results))
}

/** More digits than a figure has are noise in a diff. */
function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(4)) : value
}

const engineName = { sqlite: 'SQLite', postgres: 'PostgreSQL' }
const ms = (micros: number) => digits(micros / 1000)

/** Everybody side by side: the own record and a whole sign-in. */
function firstTable({ figures, accounts }: Results): string {
  const named = (figure: Figure) => `${figure.service}, ${engineName[figure.engine]}`
  const main = figures.filter(
    ({ service, workers, accounts: count }) =>
      workers === 1 && (service !== 'Chiron' || count === accounts[1]),
  )
  const reads = main.filter(({ id }) => id === 'me')
  if (reads.length === 0) return ''
  const bare = reads[0]!
  const rows = reads.map((read) => {
    const signIn = main.find((one) => one.id === 'sign-in' && named(one) === named(read))
    return [
      named(read),
      ranged(read.cpuMicros),
      ranged(read.ratio),
      whole(read.perSecond.median),
      signIn ? ranged(signIn.cpuMicros, ms) : '–',
      signIn ? whole(signIn.perSecond.median) : '–',
    ]
  })
  return table(
    ['', 'GET own profile, µs', 'of bare', 'a second', 'whole sign-in, ms', 'a second'],
    [['bare node:http', ranged(bare.bareMicros), '1', whole(bare.barePerSecond.median), '–', '–'], ...rows],
  )
}

export function targetsTable(results: Results): string {
  return table(
    ['', 'engine', 'target', 'measured', ''],
    targets(results)
      .filter(({ verdict }) => verdict !== 'not measured')
      .map(({ name, engine, wanted, value, verdict }) => [
        name,
        engineName[engine],
        wanted,
        ranged(value),
        verdict,
      ]),
  )
}

export function figuresTable(figures: readonly Figure[]): string {
  return table(
    ['', 'engine', 'accounts', 'workers', 'µs', 'of bare', 'database µs', 'a second', 'p50 ms', 'p99 ms'],
    figures.map((figure) => [
      figure.service === 'Chiron' ? figure.name : `${figure.service}: ${figure.name}`,
      engineName[figure.engine],
      whole(figure.accounts),
      String(figure.workers),
      ranged(figure.cpuMicros),
      ranged(figure.ratio),
      ranged(figure.storeMicros),
      ranged(figure.perSecond, whole),
      ranged(figure.p50),
      ranged(figure.p99),
    ]),
  )
}

const leastToTell = 0.03

export function restOf({ pairs, singles, accounts }: Results): string {
  const sizes = accounts.toReversed().map(whole).join(' accounts against ')
  const what = { accounts: sizes, workers: 'two workers against one' }
  const compared = table(
    ['', 'engine', 'compared', 'processor time', '', 'requests a second'],
    pairs.map((pair) => [
      pair.name,
      engineName[pair.engine],
      what[pair.what],
      `${ranged(pair.cost)} ×`,
      difference(pair.cost, leastToTell),
      `${ranged(pair.speed)} ×`,
    ]),
  )
  const others = table(
    ['', 'engine', ''],
    singles.map(({ name, engine, value, unit }) => [name, engineName[engine], `${ranged(value)} ${unit}`]),
  )
  return `${compared}\n${others}`
}

function page(results: Results): string {
  const { machine, accounts, rounds } = results
  const pinning = machine.pinned
    ? 'The server has one core; load, mail server and PostgreSQL share the other.'
    : 'The machine has one core, or no `taskset`: server, load and database were not kept apart.'
  return `# Performance

Written by \`npm run bench\` on ${results.date}, in ${whole(results.seconds)} s, on ${machine.cpu}, ${machine.cores} cores,
${machine.memoryGb} GB, ${machine.system}, Node ${machine.node}.

The figure that counts is the **processor time of the server for a request**, user and system. It takes turns, of some
tens of milliseconds, with a bare \`node:http\` server that answers as many fixed bytes; *of bare* is the bare
server's time divided by this one's. Figures are medians of ${rounds} rounds with quartiles in parentheses. Something is called
met, missed, faster or slower only if 19 times in 20 chance would not say so.

${firstTable(results)}
${results.left.map((line) => `${line}\n`).join('')}
![Processor time for a request, as a share of a bare node:http server's](performance.svg)

## Targets

${targetsTable(results)}
## All figures

${figuresTable(results.figures)}
${restOf(results)}
## How it is measured

- ${pinning} 48 connections, each with one request under way.
- With two workers server, load and database share both cores, and so does the one worker that they are compared with.
  Sharing makes every request dearer, so two workers are held against one of the same rounds ("two workers against one").
- A round is 20,000 requests or 3 s for each, after rounds that do not count, until two agree within 5 %. Processor time is
  read while the server is at rest, so it holds what a request sets off later, too. *µs* is the sum of all its processes;
  the database server's stands beside it.
- ${whole(accounts[1])} veterinarians, and ${whole(accounts[0])} in the small store; 10,000 live sessions of either role from
  all over the store, each of which the server has seen before anything counts.
- Limits are on, as in production, behind a proxy that names everybody's network; but for registrations, of which the
  service takes no more than 1,000 a minute.
- Both engines are durable: SQLite with \`synchronous=FULL\`; PostgreSQL with \`fsync\` and \`synchronous_commit\` on.
- A whole sign-in is send-otp, a mail that arrives by SMTP over a socket, and validate-otp with the code from it. Mails leave
  at a moment of chance after the request, by design, so up to 600 sign-ins are under way. Latencies are of the two requests.
- Every answer is looked at: its status, and whether it is about the right person. One wrong answer ends the run.
- At half load requests are sent when they are due, and latency counts from then.
- The roster comes in by \`chiron roster import\` into an empty store, from start to end of the command.
- What differs at the peers: [Better Auth](../bench/peers/better-auth/README.md),
  [PocketBase](../bench/peers/pocketbase/README.md). Each has 100,000 users.
`
}
