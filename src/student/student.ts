/** Students: on the roster, active; off it, inactive. Until a roster can be imported there are none. */
import { AppError } from '../errors.ts'
import type { Person, RoleRules } from '../people/people.ts'

export class Students implements RoleRules {
  readonly role = 'student'

  async findAccount(_addressKey: string): Promise<Person | undefined> {
    return undefined
  }

  profileOf(_person: Person): object {
    throw new AppError('session-ended')
  }
}
