/** `chiron roster …`: for registrars and operators, on a terminal or in a script. */
import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Config, rosterSettingsOf } from '../../config.ts'
import { UsageError } from '../../errors.ts'
import { parseName } from '../../identity/people/names.ts'
import { migrate } from '../../platform/db/migrate.ts'
import { openDb } from '../../platform/db/open.ts'
import { byOperator } from '../../platform/lib/by.ts'
import { systemClock, timestamp } from '../../platform/lib/clock.ts'
import { secretsFrom } from '../../platform/lib/secret.ts'
import {
  exitCodes,
  type HoldCode,
  holdCodes,
  isEmpty,
  isRefused,
  matchKeys,
  openHolds,
  type Plan,
  Roster,
} from '../../school/roster/roster.ts'
import {
  addressFrom,
  type CommonOptions,
  configOfStore,
  numberFrom,
  say,
  storeFailed,
  storeOf,
  visible,
  withFeatures,
} from './command.ts'
import { print } from './output.ts'
import { progressFor } from './progress.ts'
import {
  correctionLines,
  historyLines,
  planLines,
  refusalLines,
  reportLines,
  undoLines,
} from './roster-text.ts'

export interface RosterOptions extends CommonOptions {
  readonly verbose?: boolean
  readonly report?: string
  readonly yes?: boolean
  readonly bulk?: boolean
  readonly delta?: boolean
  readonly match?: string
  readonly skipBadRows?: string
  readonly allow?: string
}

const badRowsMax = 1_000_000

export async function rosterCheck(path: string, options: RosterOptions): Promise<void> {
  await withRoster(options, async (roster) => {
    const plan = await readPlan(roster, path, options)
    if (isRefused(plan)) process.exitCode = exitCodes.refused
    else if (plan.holds.length > 0) process.exitCode = exitCodes.held
  })
}

export async function rosterImport(path: string, options: RosterOptions): Promise<void> {
  const allow = allowedFrom(options.allow)
  await withRoster(options, async (roster) => {
    const plan = await readPlan(roster, path, options, allow)
    if (isRefused(plan)) {
      process.exitCode = exitCodes.refused
      return
    }
    if (openHolds(plan.holds, allow).length > 0) {
      process.exitCode = exitCodes.held
      return
    }
    if (!isEmpty(plan) && !(await agreed(options, 'Import this?')))
      return say(options, { type: 'declined' }, 'Nothing was changed.')
    const onProgress = progressFor(options.json === true)
    const generation = await roster.import(plan, { allow, by: byOperator }, onProgress)
    const text =
      generation === null
        ? 'The roster already matches the file; nothing to do.'
        : `Done: the roster is now number ${generation}. "chiron roster undo" undoes this import.`
    say(options, { type: 'done', generation }, text)
  })
}

export async function rosterUndo(options: RosterOptions & { readonly to?: string }): Promise<void> {
  const allow = allowedFrom(options.allow)
  const to = options.to === undefined ? undefined : numberFrom('--to', options.to, 0, 2 ** 31)
  await withRoster(options, async (roster, { timeZone }) => {
    const plan = await roster.planUndo(to)
    const [{ id, file_name: file, sha256 }] = plan.undone as [(typeof plan.undone)[number]]
    const undone = plan.undone.map((generation) => generation.id)
    say(
      options,
      {
        type: 'plan',
        undo: id,
        undone,
        to: plan.content,
        file,
        sha256,
        students: plan.counts,
        holds: plan.holds,
      },
      [...undoLines(plan, timeZone, { verbose: options.verbose === true, allow })].join('\n'),
    )
    if (openHolds(plan.holds, allow).length > 0) {
      process.exitCode = exitCodes.held
      return
    }
    if (!(await agreed(options, 'Go back?')))
      return say(options, { type: 'declined' }, 'Nothing was changed.')
    const generation = await roster.undo(plan, { allow, by: byOperator })
    const what = undone.length === 1 ? `number ${id} is undone` : `numbers ${undone.join(', ')} are undone`
    say(options, { type: 'done', generation }, `Done: ${what}.`)
  })
}

export async function rosterHistory(options: RosterOptions): Promise<void> {
  await withRoster(
    options,
    async (roster, { timeZone }) => {
      const { reachable } = await roster.standing()
      for (const g of await roster.history()) {
        const fields = {
          generation: g.id,
          kind: g.kind,
          at: timestamp(g.published_at!),
          actor: g.actor,
          actorName: g.actor_name,
          file: g.file_name,
          sha256: g.sha256,
          rows: g.rows,
          allowed: g.allowed === '' ? [] : g.allowed.split(','),
          content: g.content,
          canGoBack: reachable.includes(g.content),
          summary: JSON.parse(g.summary),
        }
        say(options, fields, historyLines(g, timeZone, fields).join('\n'))
      }
    },
    'plain',
  )
}

interface CorrectOptions extends CommonOptions {
  readonly email?: string
  readonly firstname?: string
  readonly lastname?: string
  readonly remove?: boolean
  readonly list?: boolean
}

export async function rosterCorrect(who: string | undefined, options: CorrectOptions): Promise<void> {
  if (options.list) return listCorrections(options)
  if (who === undefined)
    throw new UsageError('name the student by id, number or address; --list shows all corrections')
  const wanted = {
    ...(options.email !== undefined && { email: addressFrom(options.email).email }),
    ...(options.firstname !== undefined && { firstname: nameFrom('--firstname', options.firstname) }),
    ...(options.lastname !== undefined && { lastname: nameFrom('--lastname', options.lastname) }),
  }
  const isNothing = Object.keys(wanted).length === 0
  if (isNothing === !options.remove)
    throw new UsageError('give the correction with --email, --firstname or --lastname, or only --remove')
  await withFeatures(options, async ({ support, roster }, { databaseUrl }) => {
    sayStore(options, databaseUrl)
    const userId = await support.idOf(who)
    const generation = options.remove
      ? await roster.uncorrect(userId, byOperator)
      : await roster.correct(userId, wanted, byOperator)
    const done = options.remove ? 'is no longer corrected' : 'is corrected until the file agrees'
    const text = generation === null ? 'needs no correction; nothing to do' : done
    say(options, { type: 'done', userId, generation }, `${visible(who)} ${text}.`)
  })
}

async function listCorrections(options: CorrectOptions): Promise<void> {
  await withRoster(
    options,
    async (roster, { timeZone }) => {
      const corrections = await roster.corrections()
      for (const one of corrections)
        say(
          options,
          { ...one, correctedAt: timestamp(one.correctedAt) },
          correctionLines(one, timeZone).join('\n'),
        )
      if (corrections.length === 0 && !options.json) say(options, {}, 'There are no corrections.')
    },
    'plain',
  )
}

function nameFrom(option: string, text: string): string {
  const parsed = parseName(text)
  if (typeof parsed === 'string') throw new UsageError(`${option} ${parsed}`)
  return parsed.name
}

/** `asJson`: whether the lines of JSON have a type each, so that one more does no harm. */
async function withRoster(
  options: CommonOptions,
  work: (roster: Roster, config: Config) => Promise<void>,
  asJson: 'typed' | 'plain' = 'typed',
): Promise<void> {
  const config = configOfStore(options)
  const db = await openStore(config.databaseUrl)
  if (!options.json || asJson === 'typed') sayStore(options, config.databaseUrl)
  try {
    const secrets = secretsFrom(config.secret, config.secretPrevious)
    await work(new Roster(db, systemClock, { ...rosterSettingsOf(config), secrets }), config)
  } finally {
    await db.close()
  }
}

async function openStore(url: string) {
  try {
    const db = openDb(url)
    await migrate(db, systemClock)
    return db
  } catch (error) {
    return storeFailed(error)
  }
}

export function sayStore(options: CommonOptions, databaseUrl: string): void {
  const { engine, place } = storeOf(databaseUrl)
  say(options, { type: 'store', engine, place }, `Store: ${engine}, ${visible(place)}`)
}

/** Reads the file, then shows the plan and its findings. */
async function readPlan(
  roster: Roster,
  path: string,
  options: RosterOptions,
  allow: readonly HoldCode[] = [],
): Promise<Plan> {
  const onProgress = progressFor(options.json === true)
  const plan = await roster.plan(path, { ...planOptionsFrom(options), onProgress })
  await showPlan(plan, options, allow)
  return plan
}

export async function showPlan(
  plan: Plan,
  options: RosterOptions,
  allow: readonly HoldCode[],
): Promise<void> {
  await writeReport(plan, options)
  if (options.json) return sayPlan(plan, options)
  const verbose = options.verbose === true
  for (const line of isRefused(plan) ? refusalLines(plan, verbose) : planLines(plan, { verbose, allow }))
    print(line)
  if (options.report) print(`The report is in ${visible(options.report)}.`)
}

export async function writeReport(plan: Plan, { report }: RosterOptions): Promise<void> {
  if (report !== undefined)
    await pipeline(Readable.from(withBreaks(reportLines(plan))), createWriteStream(report))
}

function sayPlan(plan: Plan, options: RosterOptions): void {
  const { file, counts, holds, badRows, skipsBadRows } = plan
  for (const finding of plan.findings) say(options, { type: 'finding', ...finding }, '')
  const refused = isRefused(plan)
  if (refused) {
    say(options, { type: 'plan', file, badRows, refused }, '')
    return
  }
  if (options.verbose) for (const change of plan.changes()) say(options, { type: 'change', ...change }, '')
  say(options, { type: 'plan', file, counts, holds, badRows, skipsBadRows, refused }, '')
}

function* withBreaks(lines: Iterable<string>): Generator<string> {
  for (const line of lines) yield `${line}\n`
}

export function planOptionsFrom({ bulk, delta, match, skipBadRows }: RosterOptions) {
  if (bulk && delta) throw new UsageError('give either --bulk or --delta, not both')
  const by = matchKeys.find((key) => key === match)
  if (match !== undefined && !by) throw new UsageError(`--match must be ${matchKeys.join(' or ')}`)
  return {
    ...(bulk && { mode: 'bulk' as const }),
    ...(delta && { mode: 'delta' as const }),
    ...(by && { match: by }),
    ...(skipBadRows !== undefined && {
      skipBadRowsMax: numberFrom('--skip-bad-rows', skipBadRows, 0, badRowsMax),
    }),
  }
}

export function allowedFrom(text = ''): HoldCode[] {
  const names = text.split(',').map((name) => name.trim())
  return names.filter(Boolean).map((name) => {
    const code = holdCodes.find((each) => each === name)
    if (!code)
      throw new UsageError(
        `--allow takes a comma-separated list of ${holdCodes.join(', ')}; not ${visible(name)}`,
      )
    return code
  })
}

async function agreed(options: RosterOptions, question: string): Promise<boolean> {
  if (options.yes) return true
  if (!process.stdin.isTTY) throw new UsageError('cannot ask without a terminal; add --yes to proceed')
  const ask = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await ask.question(`${question} [y/N] `)
  ask.close()
  return /^y(es)?$/i.test(answer.trim())
}
