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
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { buildAt } from '../../bench/builds.ts'
import type { Engine } from '../support/engines.ts'
import { differences } from './compare.ts'
import { fixtures, setsIn } from './fixtures.ts'
import { generated } from './generated.ts'
import { rare } from './rare.ts'
import { type Recording, record } from './record.ts'

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

if (values.compare) tell(read(positionals[0]!), read(positionals[1]!))
else if (values.against !== undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'chiron-verdicts-of-'))
  try {
    const { folder: other } = await buildAt(values.against, join(folder, 'chiron'))
    tell(await recordingOf(other), await recordingOf(here))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
} else if (values.out !== undefined) {
  const recording = await recordingOf(resolve(values.of))
  write(values.out, recording)
  sayMissing(recording)
} else throw new Error('one of --out FILE, --against REF and --compare A B is needed')

async function recordingOf(folder: string): Promise<Recording> {
  const all = [...fixtures(), ...(await rare()), ...values.sets.flatMap(setsIn), ...(await generated())]
  const scenarios = all.filter(({ name }) => name.toLowerCase().includes(only))
  const began = performance.now()
  let done = 0
  const recording = await record(folder, values.engine as Engine, scenarios, () => {
    if (++done % 50 === 0) say(`${done} of ${scenarios.length}`)
  })
  const commands = scenarios.reduce((sum, { steps }) => sum + steps.length, 0)
  const seconds = Math.round((performance.now() - began) / 1000)
  say(`${folder}: ${scenarios.length} scenarios, ${commands} commands, ${seconds} s`)
  return recording
}

/** An object with a line for each scenario: all of them are more than one text can hold. */
function write(path: string, recording: Recording): void {
  const file = openSync(path, 'w')
  for (const [i, [name, verdicts]] of [...recording].entries())
    writeSync(file, `${i === 0 ? '{\n' : ',\n'}${JSON.stringify(name)}: ${verdicts}`)
  writeSync(file, '\n}\n')
  closeSync(file)
}

function read(path: string): Recording {
  const bytes = readFileSync(path)
  const found = new Map<string, string>()
  for (let at = 0, end = bytes.indexOf(10); end >= 0; at = end + 1, end = bytes.indexOf(10, at)) {
    const line = bytes.toString('utf8', at, end)
    const name = /^"(?:[^"\\]|\\.)*"/.exec(line)?.[0]
    if (name?.toLowerCase().includes(only))
      found.set(JSON.parse(name), line.slice(name.length + 2).replace(/,$/, ''))
  }
  return found
}

function tell(before: Recording, after: Recording): void {
  const lines = [...differences(before, after)]
  for (const line of lines) say(line)
  say(
    lines.length === 0 ? 'No difference.' : `${lines.filter((line) => !line.startsWith(' ')).length} differ.`,
  )
  if (lines.length > 0) process.exitCode = 1
}

/** The codes of findings and holds that the documents explain and no scenario has. */
function sayMissing(recording: Recording): void {
  const rows = readFileSync(join(here, 'docs/roster.md'), 'utf8').split('\n')
  const codes = rows.flatMap(
    (row) => /^\| ([a-z][a-z0-9.-]*(?:, [a-z][a-z0-9.-]*)*) \| [EW]/.exec(row)?.[1]?.split(', ') ?? [],
  )
  const held = rows.slice(rows.indexOf('| held for | when |'))
  const holds = held.slice(0, held.indexOf('')).flatMap((row) => /^\| `([a-z]+)` \| /.exec(row)?.[1] ?? [])
  const seen = new Set<string>()
  for (const verdicts of recording.values())
    for (const [, code] of verdicts.matchAll(/"code":"([a-z0-9.-]+)"/g)) seen.add(code!)
  const missing = [...codes, ...holds].filter((code) => !seen.has(code))
  if (only === '')
    say(`Of ${codes.length + holds.length} codes, none has: ${missing.join(', ') || 'none is missing'}`)
}
