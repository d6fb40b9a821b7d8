/** Parses the fields of a validated body and reports all errors at once. */
import { AppError, type FieldError } from '../../errors.ts'
import { type Address, parseAddress } from '../../platform/lib/address.ts'
import { parseOwnName } from './names.ts'

export class Fields {
  readonly #errors: FieldError[] = []

  email(text: string): Address {
    const parsed = parseAddress(text)
    return typeof parsed === 'string' ? this.#wrong('email', parsed, { email: '', key: '' }) : parsed
  }

  name(field: 'firstname' | 'lastname', text: string): string {
    const parsed = parseOwnName(text)
    return typeof parsed === 'string' ? this.#wrong(field, parsed, '') : parsed.name
  }

  /** For errors beyond the form of a field. */
  refuse(field: string, detail: string): void {
    this.#wrong(field, detail, undefined)
  }

  /** Call after all fields were read. */
  check(): void {
    if (this.#errors.length > 0) throw new AppError('invalid-request', undefined, { errors: this.#errors })
  }

  #wrong<T>(field: string, detail: string, instead: T): T {
    this.#errors.push({ pointer: `#/${field}`, detail })
    return instead
  }
}
