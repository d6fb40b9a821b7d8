/** The owner of an address, as far as mails need to know. `identity/people` finds them. */
import type { Role } from '../../roles.ts'

export interface Recipient {
  readonly id: string
  /** The spelling on record. */
  readonly email: string
  readonly status: string
  readonly canSignIn: boolean
  /** Null unless it comes from the school or its owner has confirmed it: anyone can register any address. */
  readonly firstname: string | null
}

export type FindRecipient = (role: Role, addressKey: string) => Promise<Recipient | undefined>
