/**
 * Every type of event: when it happens, and which fields its `data` has. The feed, webhooks and docs/webhooks.md follow
 * this list.
 */
import { type Role, schoolRoles } from '../../roles.ts'

/** A JSON schema. */
export interface EventField {
  readonly type: 'string' | 'integer'
  readonly enum?: readonly string[]
  readonly description?: string
}

type FieldsByName = Readonly<Record<string, EventField>>

export interface EventKind {
  /** Completes "it happens when …". */
  readonly when: string
  /** The fields of `data` that are always there, and those that may be missing. */
  readonly data?: FieldsByName
  readonly optional?: FieldsByName
}

const text = (description: string) => ({ type: 'string', description }) as const
const count = (description: string) => ({ type: 'integer', description }) as const
const oneOf = <const V extends readonly string[]>(...values: V) => ({ type: 'string', enum: values }) as const

/** Why a sign-in with a school account was refused. */
export const refusalReasons = [
  // Only former versions wrote these: such refusals are now counted.
  'not-started-here',
  'closed',
  'provider-refused',
  'provider-unreachable',
  'issuer',
  'token',
  'tenant',
  'hosted-domain',
  'subject',
  'claims',
  'ambiguous-claims',
  'address-unverified',
  'address-domain',
  'nobody',
  'two-people',
  'other-account',
  'not-connected',
  'outdated-link',
  'not-active',
  'session-ended',
] as const
export type RefusalReason = (typeof refusalReasons)[number]

const sessionId = text('the sign-in')
const passkeyId = text('the passkey')
const clientId = text('the application')
/** For a session at an application. */
const client = clientId
const providerId = text('the provider of school accounts')

/** Events of an account, by role. Add new ones here. */
const ofRole = {
  veterinarian: {
    registered: { when: 'somebody registers a new address' },
    activated: { when: 'a veterinarian signs in for the first time' },
    updated: { when: 'names are changed or confirmed, or the public page is hidden or shown' },
    verified: { when: 'staff have verified the person' },
    unverified: {
      when: 'staff withdraw the verification, or the name or address changes',
      optional: { reason: oneOf('name', 'address') },
    },
    'address-changed': { when: 'the account moves to another e-mail address' },
    suspended: { when: 'staff suspend the person' },
    reactivated: { when: 'staff reactivate the person' },
    closed: { when: 'the account is closed and its personal data erased' },
    lapsed: { when: 'a registration was not confirmed within seven days' },
  },
  student: {
    added: { when: 'the roster has a new student' },
    updated: { when: 'the roster, or a correction, changes a student' },
    deactivated: { when: 'the roster drops a student' },
    suspended: { when: 'staff suspend the student' },
    reactivated: { when: 'staff reactivate the student, or the student is back on the roster' },
  },
  staff: {
    added: { when: 'somebody becomes a member of staff' },
    changed: { when: 'the name or rights of a member of staff change' },
    removed: { when: 'somebody is no longer a member of staff' },
  },
} as const satisfies Record<Role, Record<string, EventKind>>

const others = {
  'session.started': {
    when: 'somebody signs in',
    data: { sessionId },
    // Events of former versions have none.
    optional: { method: oneOf('code', 'passkey', 'school'), client },
  },
  'session.stepped-up': {
    when: 'somebody proves again who they are, in the same session',
    data: { sessionId, method: oneOf('code', 'passkey') },
  },
  'session.ended': {
    when: 'a session ends',
    data: { sessionId, reason: oneOf('signed-out', 'expired', 'revoked', 'reuse', 'account') },
    optional: { client },
  },
  'passkey.added': { when: 'somebody adds a passkey to their account', data: { passkeyId, sessionId } },
  'passkey.removed': {
    when: 'the owner, staff or an operator removes a passkey',
    data: { passkeyId },
    optional: { sessionId },
  },
  'passkey.cloned': {
    when: 'a passkey is used whose counter went back, as that of a copy would; it is refused',
    data: { passkeyId },
  },
  'client.added': { when: 'an application is registered', data: { clientId } },
  'client.changed': { when: 'the registration of an application changes', data: { clientId } },
  'client.rotated': { when: 'an application gets a new secret', data: { clientId } },
  'client.disabled': { when: 'an application is disabled; its tokens are refused', data: { clientId } },
  'client.enabled': { when: 'an application is enabled again', data: { clientId } },
  'client.removed': { when: 'an application is removed', data: { clientId } },
  'consent.given': {
    when: 'somebody allows an application to sign them in',
    data: { clientId, scope: text('separated by spaces') },
  },
  'consent.withdrawn': { when: 'that permission ends', data: { clientId } },
  'logout.failed': {
    when: 'an application could not be told that a session had ended',
    data: { clientId, sessionId },
  },
  'school.linked': {
    when: 'an account of the school’s provider is connected to an account here, at its first sign-in or by its owner',
    data: { providerId, sessionId },
  },
  'school.unlinked': {
    when: 'the owner or staff disconnect an account of the school’s provider',
    data: { providerId },
    optional: { sessionId },
  },
  'school.refused': {
    when: 'a sign-in with a school account is refused; its page does not say why',
    data: { reason: oneOf(...refusalReasons) },
    optional: {
      reference: text('what its page shows, so that people can quote it'),
      providerId,
      role: oneOf(...schoolRoles),
    },
  },
  'provider.added': { when: 'a provider of school accounts is added', data: { providerId } },
  'provider.changed': { when: 'a provider is changed, disabled or enabled', data: { providerId } },
  'provider.removed': { when: 'a provider is removed, and all its links with it', data: { providerId } },
  'otp.exhausted': { when: 'the fifth wrong code is sent for one sign-in', data: { sessionId } },
  'mail.failed': {
    when: 'a mail could not be delivered in time, or was refused permanently',
    data: { reason: oneOf('expired', 'refused') },
    optional: { sessionId },
  },
  'mail.bounced': {
    when: 'a mail bounces; `hard`: permanently',
    data: { hard: oneOf('true', 'false') },
    optional: { sessionId },
  },
  'roster.imported': {
    when: 'a roster is imported',
    data: { generation: count('the number of the import') },
  },
  'roster.undone': {
    when: 'an import is undone',
    data: { generation: count('the number of the undo'), undone: count('the number of the import') },
  },
  'key.rotated': {
    when: 'a signing key is added, or revoked because it leaked',
    optional: { kid: text('the new key'), revoked: text('the key that is no longer trusted') },
  },
} as const satisfies Record<string, EventKind>

/** Sent to one webhook when somebody asks for it. It is not part of the feed. */
export const testEvent = {
  type: 'webhook.test',
  when: 'somebody tests the webhook; not part of the feed, and its `number` is 0',
  data: { webhookId: text('the webhook') },
} as const satisfies EventKind & { type: string }

type NameOf<R extends Role> = keyof (typeof ofRole)[R] & string
/** The names that all these roles have. */
type SharedName<R extends Role> = (R extends Role ? (name: NameOf<R>) => void : never) extends (
  name: infer Name,
) => void
  ? Name & string
  : never

export type EventType = { [R in Role]: `${R}.${NameOf<R>}` }[Role] | keyof typeof others

/** The `data` of an event of this type. */
export type EventData<T extends EventType> = T extends keyof typeof others
  ? DataOf<(typeof others)[T]>
  : T extends `${infer R extends Role}.${infer Name}`
    ? DataOf<(typeof ofRole)[R][Name & keyof (typeof ofRole)[R]]>
    : never
type DataOf<K> = (K extends { data: infer D } ? { readonly [N in keyof D]: ValueOf<D[N]> } : unknown) &
  (K extends { optional: infer O } ? { readonly [N in keyof O]?: ValueOf<O[N]> } : unknown)
type ValueOf<F> = F extends { enum: readonly (infer V)[] }
  ? V
  : F extends { type: 'integer' }
    ? number
    : string

export const eventKinds = Object.fromEntries([
  ...Object.entries(ofRole).flatMap(([role, kinds]) =>
    Object.entries(kinds).map(([name, kind]) => [`${role}.${name}`, kind]),
  ),
  ...Object.entries(others),
]) as Readonly<Record<EventType, EventKind>>

export const eventTypes = Object.keys(eventKinds) as readonly EventType[]

/** For accounts whose role is known only at run time. */
export function eventOf<R extends Role>(role: R, name: SharedName<R>): EventType {
  return `${role}.${name}` as EventType
}
