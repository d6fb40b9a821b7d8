/**
 * Delivery records, to answer "I got no code": when the mail was requested, which server accepted it and its reply,
 * why it was deferred, not sent or refused, whether it bounced, and how its code was answered. One row per mail, kept
 * for 30 days, or for a day if nobody has the address. Never a code.
 *
 * The outbox and sign-in write steps in transactions of their own; a bounce comes from a mail server's pipe (`dsn.ts`)
 * or from a provider's hook (`providers.ts`), and must name a mail that was sent (`tag.ts`).
 */

import { invalidField } from '../../errors.ts'
import type { Context } from '../../platform/context.ts'
import type { Db, Statement } from '../../platform/db/db.ts'
import { type Address, domainOf, parseAddress } from '../../platform/lib/address.ts'
import type { By } from '../../platform/lib/by.ts'
import { day, timestamp, timestampOrNull } from '../../platform/lib/clock.ts'
import { isId } from '../../platform/lib/random.ts'
import { fingerprint, type Secrets } from '../../platform/lib/secret.ts'
import { type StepName, stateAfter, waiting } from './states.ts'
import * as store from './store.ts'
import { mailNamedIn } from './tag.ts'

export { states, waiting } from './states.ts'
export { bounceAddress, tagOf } from './tag.ts'

const textMax = 500
const deferralsLengthMax = 6_000
/** Strangers can cause any number of mails to unknown addresses, so these records are deleted soon. */
const strangersKeptMs = day

export interface Step {
  readonly step: StepName
  readonly server?: string | undefined
  /** The server's reply, verbatim. */
  readonly reply?: string | undefined
  /** In our own words. */
  readonly why?: string | undefined
  /** For a bounce: whether it is permanent. */
  readonly hard?: boolean
  /** For a deferral: the time of the next attempt. */
  readonly nextAt?: number
}

interface About {
  readonly mailId: string
  readonly at: number
  /** The kind of mail, once known. */
  readonly kind?: string | null
  readonly personId?: string | undefined
}

export function deliveryOpened(mailId: string, email: string): Statement {
  return store.openDelivery(mailId, domainOf(email))
}

export function stepTaken(about: About, step: Step): Statement {
  return store.addStep(newStep(about, step))
}

function newStep({ mailId, at, kind = null, personId }: About, step: Step): store.NewStep {
  const { reply, why } = step
  const line = { at, ...step, reply: reply && shortened(reply), why: why && shortened(why) }
  return {
    id: mailId,
    state: stateAfter[step.step],
    kind,
    personId: personId ?? null,
    at,
    line: `${JSON.stringify(line)}\n`,
    // A mail may be deferred a thousand times.
    unlessLongerThan: step.step === 'deferred' ? deferralsLengthMax : Number.MAX_SAFE_INTEGER,
  }
}

/** How a code was answered; recorded on the last mail that carried it. */
export function codeAnswered(mailId: string, isRight: boolean, at: number): Statement {
  return stepTaken({ mailId, at }, { step: isRight ? 'right-code' : 'wrong-code' })
}

/** Erases the records of mails to a person, and of others to the same address. */
export function forgetDeliveries(secrets: Secrets, personId: string, addressKey: string): Statement[] {
  return [
    ...store.forgetPerson(personId),
    ...fingerprintsOf(secrets, addressKey).flatMap(store.forgetAddress),
  ]
}

const shownMax = 1_000

/** For staff: mails to a person, and those that the person asked for. */
export async function deliveriesOf(db: Db, personId: string): Promise<DeliveryView[]> {
  return (await store.someDeliveries(db, { personId, limit: shownMax })).map(viewOf)
}

/** The same for the person. It must not reveal who has an address that is not the person's own. */
export async function ownDeliveriesOf(db: Db, personId: string): Promise<DeliveryView[]> {
  const rows = await store.someDeliveries(db, { personId, erasedToo: true, limit: shownMax })
  return rows.map((row) => ownViewOf(row, personId))
}

/** When mail to each of these addresses bounced permanently; working addresses are left out. */
export async function bouncesAmong(
  db: Db,
  secrets: Secrets,
  addressKeys: () => Iterable<string> | Promise<Iterable<string>>,
): Promise<Map<string, number>> {
  const bounced = new Map(
    (await store.bouncedStudents(db)).map((row) => [row.address_fingerprint, row.bounced_at] as const),
  )
  const found = new Map<string, number>()
  if (bounced.size === 0) return found
  for (const key of await addressKeys()) {
    const at = fingerprintsOf(secrets, key).flatMap((one) => bounced.get(one) ?? [])
    if (at.length > 0) found.set(key, Math.max(...at))
  }
  return found
}

export interface Bounce {
  readonly hard: boolean
  /** The server that reported it. */
  readonly server: string | null
  /** What the receiving server said. */
  readonly reply: string
  /** Texts that may name the mail. */
  readonly names: readonly string[]
  /** Trusted only with the secret: anyone can write any address into a report. */
  readonly recipient?: string | undefined
}

export interface DeliverySearch {
  readonly email?: string
  readonly state?: string
  readonly since?: number
  /** The `next` value of the previous page. */
  readonly after?: string
  readonly limit: number
}

interface Deps extends Pick<Context, 'db' | 'clock' | 'secrets'> {
  readonly keepMs: number
}

export class Deliveries {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Newest first. */
  async find({ email, state, since, after, limit }: DeliverySearch) {
    const { db, secrets } = this.#deps
    if (after !== undefined && !isId(after))
      throw invalidField({ parameter: 'after', detail: 'must be the `next` value of a page' })
    const rows = await store.someDeliveries(db, {
      ...(email !== undefined && { fingerprints: fingerprintsOf(secrets, addressFrom(email).key) }),
      ...(state === waiting ? { isWaiting: true } : state !== undefined && { state }),
      ...(since !== undefined && { since }),
      ...(after !== undefined && { before: after }),
      limit: limit + 1,
    })
    const deliveries = rows.slice(0, limit).map(viewOf)
    return { deliveries, next: rows.length > limit ? deliveries.at(-1)!.deliveryId : null }
  }

  /** Returns the mail that bounced, or undefined if the bounce names none of ours. */
  async bounced(bounce: Bounce, by: By): Promise<string | undefined> {
    const { db, clock } = this.#deps
    const mailId = await this.#mailOf(bounce)
    if (mailId === undefined) return undefined
    const { hard, server, reply } = bounce
    const step = newStep(
      { mailId, at: clock.now() },
      { step: 'bounced', hard, server: server ?? undefined, reply: withoutCodes(reply) },
    )
    await db.decide(store.addBounce(step, hard, by))
    return mailId
  }

  async #mailOf({ names, recipient }: Bounce): Promise<string | undefined> {
    const { db, secrets } = this.#deps
    const named = mailNamedIn(secrets, names.join('\n'))
    if (named !== undefined) return (await store.isDelivery(db, named)) ? named : undefined
    const address = recipient === undefined ? '' : parseAddress(recipient)
    return typeof address === 'string'
      ? undefined
      : store.lastHanded(db, fingerprintsOf(secrets, address.key))
  }

  sweep(now: number): Statement[] {
    return [store.pruneDeliveries(now - this.#deps.keepMs), store.pruneStrangers(now - strangersKeptMs)]
  }
}

function fingerprintsOf(secrets: Secrets, addressKey: string): string[] {
  return secrets.all.map((keys) => fingerprint(keys, 'address', addressKey))
}

function addressFrom(text: string): Address {
  const address = parseAddress(text.trim())
  if (typeof address === 'string') throw invalidField({ parameter: 'email', detail: address })
  return address
}

function shortened(text: string): string {
  return text.length > textMax ? `${text.slice(0, textMax)}…` : text
}

/** A report may quote the mail. */
function withoutCodes(text: string): string {
  return text.replace(/(?<!\d)(?:\d{6}|\d{8})(?!\d)/g, '…')
}

export type DeliveryView = ReturnType<typeof viewOf>

/** For the HTTP interface, the command line and the owner's export. */
function viewOf(row: store.DeliveryRow) {
  return {
    deliveryId: row.id,
    role: row.role,
    mail: row.kind,
    domain: row.domain,
    userId: row.person_id,
    askedBy: row.asker_id || null,
    sessionId: row.session_id === '' ? null : row.session_id,
    state: row.state,
    createdAt: timestamp(row.created_at),
    updatedAt: timestamp(row.updated_at),
    steps: [
      { ...absent, at: timestamp(row.created_at), step: 'queued' as const },
      ...row.steps.split('\n').filter(Boolean).map(stepView),
    ],
  }
}

function ownViewOf(row: store.DeliveryRow, personId: string): DeliveryView {
  const view = viewOf(row)
  if (row.asker_id === null) return view
  // The owner sees the mail, but not who requested it or answered.
  if (row.asker_id !== personId) {
    const steps = view.steps.filter(({ step }) => step !== 'wrong-code' && step !== 'right-code')
    return { ...view, askedBy: null, sessionId: null, steps, updatedAt: steps.at(-1)!.at }
  }
  // The requester sees the request and nothing that followed, because the content and delivery depend on the owner.
  return {
    ...view,
    mail: 'address-code',
    userId: null,
    state: 'queued',
    updatedAt: view.createdAt,
    steps: view.steps.slice(0, 1),
  }
}

const absent = { server: null, reply: null, why: null, hard: null, nextAt: null }

function stepView(line: string) {
  const { at, nextAt = null, ...step } = JSON.parse(line) as Step & { at: number }
  return { ...absent, ...step, at: timestamp(at), nextAt: timestampOrNull(nextAt) }
}
