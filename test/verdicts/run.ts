/**
 * `node test/verdicts/run.ts`: what the command line says of many rosters, and what the store has after each, so that a
 * change of the roster's inside can be compared with what was before.
 *
 *   --against REF             this tree and another commit: every difference; exits with 1 if there is one
 *   --out FILE [--of FOLDER]  writes the verdicts of this tree, or of a checkout elsewhere with its packages
 *   --compare A B             two such files
 *   --engine postgres         sqlite by default
 *   --sets FOLDER             sets, zips and lists of your own, too; may be repeated. keep.ts keeps those of the tests
 *   --only TEXT               only the scenarios whose names contain it
 */
import { closeSync, createReadStream, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { buildAt } from '../../bench/builds.ts'
import type { Engine } from '../support/engines.ts'
import { differences } from './compare.ts'
import { fixtures, setsIn } from './fixtures.ts'
import { generated } from './generated.ts'
import { rare } from './rare.ts'
import { record, type Verdicts } from './record.ts'

const here = fileURLToPath(new URL('../..', import.meta.url))

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    against: { type: 'string' },
    out: { type: 'string' },
    of: { type: 'string', default: here },
    compare: { type: 'boolean' },
    engine: { type: 'string', default: 'sqlite' },
    sets: { type: 'string', multiple: true, default: [] },
    only: { type: 'string', default: '' },
  },
})
const only = values.only.toLowerCase()
const say = (line: string) => process.stdout.write(`${line}\n`)

if (values.compare) tell(await read(positionals[0]!), await read(positionals[1]!))
else if (values.against !== undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'chiron-verdicts-of-'))
  try {
    const { folder: other } = await buildAt(values.against, join(folder, 'chiron'))
    tell(await verdictsOf(other), await verdictsOf(here))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
} else if (values.out !== undefined) {
  const verdicts = await verdictsOf(resolve(values.of))
  write(values.out, verdicts)
  sayMissing(verdicts)
} else throw new Error('one of --out FILE, --against REF and --compare A B is needed')

async function verdictsOf(folder: string): Promise<Verdicts> {
  const all = [...fixtures(), ...(await rare()), ...values.sets.flatMap(setsIn), ...(await generated())]
  const scenarios = all.filter(({ name }) => name.toLowerCase().includes(only))
  const began = performance.now()
  let done = 0
  const verdicts = await record(folder, values.engine as Engine, scenarios, () => {
    if (++done % 50 === 0) say(`${done} of ${scenarios.length}`)
  })
  const commands = Object.values(verdicts).reduce((sum, steps) => sum + steps.length, 0)
  const seconds = Math.round((performance.now() - began) / 1000)
  say(`${folder}: ${scenarios.length} scenarios, ${commands} commands, ${seconds} s`)
  return verdicts
}

/** A line for each scenario: all of them are more than one text can hold. */
function write(path: string, verdicts: Verdicts): void {
  const file = openSync(path, 'w')
  for (const [i, [name, steps]] of Object.entries(verdicts).entries())
    writeSync(file, `${i === 0 ? '{\n' : ',\n'}${JSON.stringify(name)}: ${JSON.stringify(steps)}`)
  writeSync(file, '\n}\n')
  closeSync(file)
}

async function read(path: string): Promise<Verdicts> {
  const found: Record<string, Verdicts[string]> = {}
  for await (const line of createInterface({ input: createReadStream(path) }))
    if (line.startsWith('"')) {
      const scenario: Verdicts = JSON.parse(`{${line.replace(/,$/, '')}}`)
      for (const [name, steps] of Object.entries(scenario))
        if (name.toLowerCase().includes(only)) found[name] = steps
    }
  return found
}

function tell(before: Verdicts, after: Verdicts): void {
  const lines = [...differences(before, after)]
  for (const line of lines) say(line)
  say(
    lines.length === 0 ? 'No difference.' : `${lines.filter((line) => !line.startsWith(' ')).length} differ.`,
  )
  if (lines.length > 0) process.exitCode = 1
}

/** The codes of findings and holds that the documents explain and no scenario has. */
function sayMissing(verdicts: Verdicts): void {
  const rows = readFileSync(join(here, 'docs/roster.md'), 'utf8').split('\n')
  const codes = rows.flatMap(
    (row) => /^\| ([a-z][a-z0-9.-]*(?:, [a-z][a-z0-9.-]*)*) \| [EW]/.exec(row)?.[1]?.split(', ') ?? [],
  )
  const holds = rows.flatMap((row) => /^\| `([a-z]+)` \| /.exec(row)?.[1] ?? [])
  const seen = new Set<string>()
  for (const steps of Object.values(verdicts))
    for (const [, code] of JSON.stringify(steps).matchAll(/"code":"([a-z0-9.-]+)"/g)) seen.add(code!)
  const missing = [...codes, ...holds].filter((code) => !seen.has(code))
  if (only === '')
    say(`Of ${codes.length + holds.length} codes, none has: ${missing.join(', ') || 'none is missing'}`)
}
