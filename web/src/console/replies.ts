/** Replies of the service to staff. The roster's are in roster/replies.ts. */
import type { EventType } from '../../../src/messages/events/events.ts'
import type { Kind, Right, Role, ServedRole } from '../people.ts'

export type { EventType }

export interface Overview {
  readonly at: string
  readonly version: string
  readonly store: { readonly engine: string; readonly schema: number }
  readonly signIns: {
    readonly lastHour: number
    readonly lastDay: number
    readonly hours: readonly { readonly from: string; readonly count: number }[]
  }
  readonly mail: {
    readonly unsent: number
    readonly oldestAt: string | null
    readonly failedLastDay: number
  }
  readonly attack: {
    readonly underAttack: boolean
    readonly wrongCodesLastHour: number
    readonly threshold: number
    readonly wrongCodesLastDay: number
    readonly dayThreshold: number
  }
  readonly roster: {
    readonly generation: number | null
    readonly publishedAt: string | null
    readonly checkedAt: string | null
    readonly lastFetch: { readonly at: string; readonly outcome: string } | null
    readonly nextFetchAt: string | null
  }
  readonly webhooks: { readonly failing: number; readonly switchedOff: number }
  readonly people: {
    readonly countedAt: string
    readonly counts: readonly {
      readonly role: ServedRole
      readonly status: string
      readonly count: number
    }[]
    readonly toCheckAgain: number
  }
}

export const personStatuses = ['pending', 'active', 'inactive', 'suspended', 'closed', 'lapsed'] as const
export type PersonStatus = (typeof personStatuses)[number]

export interface PersonSummary {
  readonly userId: string
  readonly role: ServedRole
  readonly status: PersonStatus
  readonly firstname: string | null
  readonly lastname: string | null
  readonly email: string | null
  readonly studentNumber: string | null
  readonly verified: boolean
  /** A change took the verification back, and nobody has looked since. */
  readonly verificationLost: { readonly at: string; readonly because: 'name' | 'address' } | null
}

export interface PersonDetail {
  readonly profile: PersonSummary & {
    readonly confirmed: boolean
    readonly createdAt: string
    readonly updatedAt: string
  }
  readonly classes: readonly ClassSummary[]
  readonly sessions: readonly Device[]
  readonly deliveries?: readonly Delivery[]
  readonly events: readonly EventEntry[]
}

/** A class that a student attends or a veterinarian teaches. */
export interface ClassSummary {
  readonly classId: string
  readonly code: string | null
  readonly title: string
  readonly kind: Kind
  readonly location: string | null
  readonly startDate: string | null
  readonly endDate: string | null
  readonly current: boolean
  /** How many, where this person teaches. */
  readonly students: number | null
}

export interface Device {
  readonly sessionId: string
  readonly device: string
  readonly startedAt: string
  readonly lastSeenAt: string
  readonly expiresAt: string
  readonly endedAt: string | null
  readonly endReason: string | null
}

export interface EventEntry {
  readonly id: string
  readonly number: number | null
  readonly type: EventType
  readonly at: string
  readonly userId: string | null
  /** `self`, `system`, `operator`, or the userId of a member of staff. */
  readonly actor: string
  readonly note?: string | null
  readonly data: Readonly<Record<string, unknown>>
}

export type DeliveryState = 'queued' | 'deferred' | 'handed' | 'not-sent' | 'failed' | 'bounced' | 'opened'
export type StepName =
  | 'queued'
  | 'deferred'
  | 'handed'
  | 'not-sent'
  | 'failed'
  | 'bounced'
  | 'wrong-code'
  | 'right-code'

export interface DeliveryStep {
  readonly at: string
  readonly step: StepName
  readonly server: string | null
  /** What the server said, word for word. */
  readonly reply: string | null
  readonly why: string | null
  readonly hard: boolean | null
  readonly nextAt: string | null
}

/** One mail and what became of it. */
export interface Delivery {
  readonly deliveryId: string
  readonly role: Role
  /** Null while it is not yet known what the mail says. */
  readonly mail: string | null
  readonly domain: string
  readonly userId: string | null
  /** Who wants to move to this address. */
  readonly askedBy: string | null
  readonly state: DeliveryState
  readonly createdAt: string
  readonly steps: readonly DeliveryStep[]
}

/** What the mail server said to a test mail. */
export interface TestResult {
  readonly server: string
  readonly taken: boolean
  readonly reply: string
  readonly advice: string | null
}

export interface Member {
  readonly userId: string
  readonly firstname: string
  readonly lastname: string
  readonly email: string
  readonly may: readonly Right[]
  readonly createdAt: string
}

export interface Webhook {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
  readonly enabled: boolean
  readonly disabledAt: string | null
  readonly disabledBecause: 'operator' | 'gone' | 'failing' | null
  readonly readable: boolean
  readonly failures: number
  readonly waiting: number
  readonly createdAt: string
}

export type WebhookState = 'waiting' | 'delivered' | 'given-up' | 'dropped'

export interface WebhookDelivery {
  readonly number: number
  readonly type: string | null
  readonly state: WebhookState
  readonly attempts: number
  readonly status: number | null
  readonly error: string | null
  readonly triedAt: string | null
  readonly nextTryAt: string | null
}
