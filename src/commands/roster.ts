/** `chiron roster check | import | undo | history`: for registrars and operators, on a terminal or in a script. */
import { writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import type { Db } from '../db/db.ts'
import { migrate } from '../db/migrate.ts'
import { openDb } from '../db/open.ts'
import { UsageError } from '../errors.ts'
import { byOperator } from '../lib/by.ts'
import { systemClock, timestamp } from '../lib/clock.ts'
import { secretsFrom } from '../lib/secret.ts'
import { isEmpty, isRefused, type Plan, Roster } from '../roster/roster.ts'
import { type CommonOptions, configFor, say } from './command.ts'
import { startProgress } from './progress.ts'
import { findingLines, planLines, reportText, summaryWords, undoLines } from './roster-text.ts'

export interface RosterOptions extends CommonOptions {
  readonly verbose?: boolean
  readonly report?: string
  readonly yes?: boolean
  readonly force?: boolean
}

// Lets a script tell a bad file from one that somebody should confirm.
const exitRefused = 1
const exitHeld = 2

export async function rosterCheck(path: string, options: RosterOptions): Promise<void> {
  await withRoster(options, async (roster) => {
    const plan = await readPlan(roster, path, options)
    if (isRefused(plan)) process.exitCode = exitRefused
    else if (plan.held.length > 0) process.exitCode = exitHeld
  })
}

export async function rosterImport(path: string, options: RosterOptions): Promise<void> {
  await withRoster(options, async (roster) => {
    const plan = await readPlan(roster, path, options)
    if (isRefused(plan)) {
      process.exitCode = exitRefused
      return
    }
    if (plan.held.length > 0 && !options.force) {
      process.exitCode = exitHeld
      return
    }
    if (isEmpty(plan))
      return say(
        options,
        { type: 'done', generation: null },
        'The roster already matches the file; nothing to do.',
      )
    if (!(await agreed(options, 'Import this?')))
      return say(options, { type: 'declined' }, 'Nothing was changed.')
    const progress = startProgress(options.json === true)
    const generation = await roster.import(
      plan,
      { force: options.force === true, by: byOperator },
      progress.show,
    )
    progress.stop()
    say(
      options,
      { type: 'done', generation },
      `Done: the roster is now number ${generation}. "chiron roster undo" goes back.`,
    )
  })
}

export async function rosterUndo(options: RosterOptions): Promise<void> {
  await withRoster(options, async (roster) => {
    const plan = await roster.planUndo()
    const { id, file_name: file, sha256 } = plan.generation
    say(options, { type: 'plan', undo: id, file, sha256, students: plan.counts }, undoLines(plan).join('\n'))
    if (!(await agreed(options, 'Go back?')))
      return say(options, { type: 'declined' }, 'Nothing was changed.')
    const generation = await roster.undo(plan, byOperator)
    say(options, { type: 'done', generation }, `Done: import ${id} is undone.`)
  })
}

export async function rosterHistory(options: RosterOptions): Promise<void> {
  await withRoster(options, async (roster) => {
    for (const g of await roster.history()) {
      const at = timestamp(g.published_at!)
      const what =
        g.kind === 'undo' ? `undo of ${g.parent}` : `${g.file_name}, OneRoster ${g.version}, ${g.rows} rows`
      say(
        options,
        {
          generation: g.id,
          kind: g.kind,
          at,
          file: g.file_name,
          sha256: g.sha256,
          rows: g.rows,
          summary: JSON.parse(g.summary),
        },
        `${String(g.id).padStart(4)}  ${at}  ${what}  sha256 ${g.sha256.slice(0, 12)}…\n      ${summaryWords(g)}`,
      )
    }
  })
}

async function withRoster(
  options: CommonOptions,
  work: (roster: Roster, db: Db) => Promise<void>,
): Promise<void> {
  const { databaseUrl, secret, secretPrevious } = configFor(options)
  const db = openDb(databaseUrl)
  try {
    await migrate(db, systemClock)
    await work(new Roster(db, systemClock, undefined, secretsFrom(secret, secretPrevious)), db)
  } finally {
    await db.close()
  }
}

/** Reads the file, then shows the plan and its findings. */
async function readPlan(roster: Roster, path: string, options: RosterOptions): Promise<Plan> {
  const progress = startProgress(options.json === true)
  const plan = await roster.plan(path, progress.show)
  progress.stop()
  if (options.report) writeFileSync(options.report, reportText(plan))
  if (options.json) {
    for (const finding of plan.findings) say(options, { type: 'finding', ...finding }, '')
    if (options.verbose) for (const change of plan.changes()) say(options, { type: 'change', ...change }, '')
    const { file, counts, held } = plan
    say(options, { type: 'plan', file, counts, held, refused: isRefused(plan) }, '')
  } else {
    const lines = [
      ...planLines(plan, options.verbose === true),
      ...findingLines(plan.findings, options.verbose === true),
    ]
    process.stdout.write(`${lines.join('\n')}\n`)
    if (options.report) process.stdout.write(`The report is in ${options.report}.\n`)
  }
  return plan
}

async function agreed(options: RosterOptions, question: string): Promise<boolean> {
  if (options.yes) return true
  if (!process.stdin.isTTY) throw new UsageError('nobody can be asked here; add --yes to go ahead')
  const ask = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await ask.question(`${question} [y/N] `)
  ask.close()
  return /^y(es)?$/i.test(answer.trim())
}
