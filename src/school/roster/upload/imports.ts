/** What was imported, with its changes as long as the rosters before and after it are kept, and the undo. */
import { AppError, invalidField, UsageError } from '../../../errors.ts'
import type { FailureLog } from '../../../platform/lib/failure.ts'
import { FatalFinding } from '../findings.ts'
import { type HistoryRow, type HoldCode, holdCodes, type Roster, RosterError } from '../roster.ts'
import type { UndoJob, UndoView } from './jobs.ts'
import { type Changes, changesOfImport } from './listing.ts'
import type { JobProcess } from './process.ts'
import { importOf, listed } from './views.ts'

interface Deps {
  readonly roster: Roster
  readonly jobs: JobProcess
  readonly log: Pick<FailureLog, 'info'>
}

export class Imports {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Imports, undos and corrections, newest first. */
  async list() {
    const { roster } = this.#deps
    const [rows, standing] = await Promise.all([roster.history(), roster.standing()])
    const told = await roster.told(rows)
    const imports = rows.map((row) => importOf(row, standing, told))
    return { imports, canEmpty: standing.reachable.includes(0) }
  }

  /** One of them, with how many changes of each group it made. */
  async show(number: number) {
    const { roster } = this.#deps
    const row = await this.#imported(number)
    const [standing, told] = await Promise.all([roster.standing(), roster.told([row])])
    const found = told.has(number) ? await roster.groupsOf(row) : []
    return { ...importOf(row, standing, told), groups: found.map(listed) }
  }

  async changesOf(number: number): Promise<Changes> {
    const { roster } = this.#deps
    const row = await this.#imported(number)
    if ((await roster.told([row])).has(number)) return changesOfImport(roster, row)
    const message = `The changes of number ${number} are no longer kept: the roster before or after it is gone.`
    throw new AppError('not-found', message)
  }

  showUndo(to: number | null): Promise<UndoView> {
    return this.#deps.jobs.run({ kind: 'show-undo', to }).catch(asRefusal)
  }

  /** Returns the number of the new roster. */
  async undo({ allow, ...job }: Omit<UndoJob, 'allow'> & { allow: readonly string[] }): Promise<number> {
    const { jobs, log } = this.#deps
    const allowed = holdCodesFrom(allow)
    const generation = await jobs.run({ kind: 'undo', ...job, allow: allowed }).catch(asRefusal)
    log.info({ generation }, 'roster imports were undone in the console')
    return generation
  }

  async #imported(number: number): Promise<HistoryRow> {
    const row = (await this.#deps.roster.history()).find(({ id }) => id === number)
    if (!row) throw new AppError('not-found', 'No import has this number.')
    return row
  }
}

/** Of a request body. */
export function holdCodesFrom(allow: readonly string[]): HoldCode[] {
  return allow.map((text) => {
    const code = holdCodes.find((each) => each === text)
    if (!code) throw invalidField({ pointer: '#/allow', detail: `takes ${holdCodes.join(', ')}` })
    return code
  })
}

/** The reply to a request that cannot be carried out now. */
function asRefusal(error: unknown): never {
  const failure = error instanceof RosterError ? error.failure : null
  if (failure === 'moved-on') throw new AppError('roster-moved-on')
  if (failure === 'held') throw invalidField({ pointer: '#/allow', detail: (error as Error).message })
  if (failure === 'busy')
    throw new AppError('unavailable', 'Another import is running.', { retryAfterSeconds: 30 })
  const tooMuch = 'This takes more time or memory than it may.'
  if (error instanceof FatalFinding) throw new AppError('unavailable', tooMuch, { retryAfterSeconds: 60 })
  if (error instanceof UsageError) throw invalidField({ pointer: '#/to', detail: error.message })
  throw error
}
