/** Why a valid import or undo request is not carried out. */
import { UsageError } from '../../errors.ts'

/** `moved-on`: another import or undo came between the plan and its import. */
export type RosterFailure = 'refused' | 'held' | 'busy' | 'moved-on'

/** Also the exit code of the command. */
export const exitCodes: Readonly<Record<RosterFailure, number>> = {
  held: 2,
  refused: 3,
  busy: 4,
  'moved-on': 4,
}

export class RosterError extends UsageError {
  readonly failure: RosterFailure

  constructor(failure: RosterFailure, message: string) {
    super(message, exitCodes[failure])
    this.failure = failure
  }
}

export const movedOn = () =>
  new RosterError('moved-on', 'the roster has changed since the plan was made; review a new plan')
