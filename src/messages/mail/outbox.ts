/**
 * Sends mail from a durable queue: sign-in writes a row in its own transaction and never waits for a mail server.
 * Workers in all processes claim rows under a lease, find out who owns the address and so what the mail says, derive
 * the code and send it. Failed mails are retried with growing pauses while the code is valid, then dropped and
 * recorded.
 *
 * A mail that turns out to carry no code (a notice) goes back behind all others, and notices get only a share of the
 * connections, so that no code waits for them. An inbox gets one notice a day, and an address that nobody has
 * confirmed gets three codes a day; each domain and the whole service have budgets for both. A notice over a budget is
 * dropped. A code waits for the budget while it is valid, in a queue of its domain, and each queue is served in order.
 *
 * The worker starts after a random delay, not right after the request that queued the mail: the work depends on who
 * owns the address, and must not show in the timing of later requests.
 */
import { randomInt } from 'node:crypto'
import type { Context } from '../../platform/context.ts'
import { lookThenDecide, type Statement } from '../../platform/db/db.ts'
import { type Ask, decision } from '../../platform/db/decision.ts'
import { domainOf, inboxOf } from '../../platform/lib/address.ts'
import { clockSlackMs, day, second } from '../../platform/lib/clock.ts'
import { errorFields } from '../../platform/lib/error-fields.ts'
import type { Counts } from '../../platform/lib/limit.ts'
import { fingerprint } from '../../platform/lib/secret.ts'
import { roles } from '../../roles.ts'
import { type Step, stepTaken } from '../delivery/delivery.ts'
import { type Lane, release, Worker } from '../queue/queue.ts'
import { type DropLines, Drops } from './drops.ts'
import { type Message, type MessageSettings, messageOf } from './message.ts'
import { TokenError } from './oauth.ts'
import type { FindRecipient, Recipient } from './recipient.ts'
import {
  type Admission,
  admissionOf,
  choiceOf,
  isHeldBy,
  isHeldOrWaits,
  type Limit,
  type Mail,
  noticeEveryMs,
  serviceQueue,
} from './rules.ts'
import { type Said, saidBy, withoutCode } from './said.ts'
import * as store from './store.ts'
import {
  absentNotice,
  isCode,
  isNotice,
  isTold,
  type MailKind,
  mailKinds,
  type NoticeKind,
  otherNotice,
  reportKind,
} from './templates/texts.ts'

export { forgetMail, queueMail, queueReport, tellOf, tellOfWebhook } from './queue.ts'
export type { FindRecipient } from './recipient.ts'
export type { Mail } from './rules.ts'
export type { Report } from './templates/texts.ts'

export interface Transport {
  /** The name of the server in the delivery timeline. */
  readonly server: string
  readonly concurrency: number
  /** Whether sent mails stay in the store, for the mailbox. */
  readonly keeps: boolean
  /** Returns the server's reply. */
  send(message: Message): Promise<string>
  /** Whether a retry is pointless. */
  isFinal(error: unknown): boolean
  close(): Promise<void>
}

interface Deps extends MessageSettings, Pick<Context, 'db' | 'clock' | 'log'> {
  readonly findRecipient: FindRecipient
  /** Limits of mails to addresses without a confirmed account; null if there are none. */
  readonly strangers: StrangersLimits | null
  readonly transport: Transport
  /** Minimum and maximum of the random delay. */
  readonly delayMs: readonly [number, number]
  /** Called with the outcome of a mail and the time since it was queued. */
  noted?(outcome: MailOutcome, tookMs: number): void
}

export interface StrangersLimits {
  /** Whether somebody at the domain has a confirmed account, or an operator has named it. */
  knowsDomain(domain: string): Promise<boolean>
  /** Inbox and domain are fingerprints. */
  of(mail: { inbox: string; domain: string; isKnown: boolean; hasCode: boolean }): MailLimits
}

type MailCounts = { readonly [Name in Limit]?: Counts }

export interface MailLimits {
  readonly locks: { readonly [Name in Limit]?: Ask<Counts> }
  /** The limit that has no room; that of the inbox first, because waiting does not help there. */
  full(counts: MailCounts, now: number): Limit | null
  /** Takes one from each. */
  take(counts: MailCounts, now: number): Statement[]
}

const noLimits: MailLimits = { locks: {}, full: () => null, take: () => [] }

/**
 * `deferred` mails are retried; `dropped` ones exceeded the limit of their inbox, or without a code a budget; `waiting`
 * codes wait for a budget, and `over-budget` ones have waited in vain.
 */
export const mailOutcomes = [
  'sent',
  'deferred',
  'refused',
  'expired',
  'dropped',
  'waiting',
  'over-budget',
] as const
export type MailOutcome = (typeof mailOutcomes)[number]

const pollMs = 1_000
const leaseMs = 25 * second
const noticesShare = 1 / 4
const caughtKeptMs = day
/** Waiting codes that a queue may send before others get their turn. */
const servedMax = 100
// The busier it is, the sooner it looks again: a burst of codes comes back as a burst of answers. But looking costs time too.
const soonerMax = 4
// After a shorter outage the pauses stay: a server in trouble may fail now and then.
const outageMs = 10 * second
const pausesMs = [2, 5, 10, 20, 40, 60].map((s) => s * second)

export class Outbox {
  readonly #deps: Deps
  readonly #worker: Worker<Mail>
  readonly #noticesDropped: Drops
  readonly #codesWaiting: Drops
  readonly #codesDropped: Drops
  readonly #lanes: Readonly<Record<store.Lane, Lane<Mail>>>
  #beat: NodeJS.Timeout | undefined
  #poll: NodeJS.Timeout | undefined
  /**
   * The last claim of codes filled every free slot, so more may be waiting. Notices do not count: they are not urgent.
   */
  #backlog = false
  /** How many codes the last claims found. */
  #found = 0
  /** No mail was accepted since then, and at least one connection was refused. */
  #downSince: number | null = null
  #stopped = false

  constructor(deps: Deps) {
    this.#deps = deps
    const drops = (lines: DropLines) => new Drops(deps.log, deps.clock, lines)
    this.#noticesDropped = drops(noticesDropped)
    this.#codesWaiting = drops(codesWaiting)
    this.#codesDropped = drops(codesDropped)
    const { concurrency } = deps.transport
    const work = (mail: Mail) => this.#process(mail)
    this.#lanes = {
      codes: {
        ...store.mailsOf('codes', mailKinds),
        jobsMax: concurrency,
        work,
        claimed: (count, limit) => {
          this.#backlog = count === limit
          this.#found = Math.max(count, this.#found)
        },
      },
      notices: {
        ...store.mailsOf('notices', mailKinds),
        jobsMax: Math.max(1, Math.floor(concurrency * noticesShare)),
        work,
      },
    }
    this.#worker = new Worker(deps, {
      what: 'reading the outbox',
      table: store.mails,
      leaseMs,
      jobsMax: concurrency,
      isLong: true,
      dueLanes: () => this.#dueLanes(),
      ended: () => this.#next(),
    })
  }

  start(): void {
    this.#poll = setInterval(() => this.wake(), pollMs)
    this.wake()
  }

  wake(): void {
    if (this.#stopped || this.#beat) return
    this.#beat = setTimeout(
      () => {
        this.#beat = undefined
        this.#worker.wake()
      },
      randomInt(...this.#deps.delayMs) / Math.min(soonerMax, 1 + this.#found / 2),
    )
  }

  /** Claims no more mails and waits for those being sent. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#poll)
    clearTimeout(this.#beat)
    await this.#worker.stop()
    await this.#deps.transport.close()
  }

  /**
   * Sends one mail at once, for a command that ends soon. If the server does not accept it, or a worker of the service
   * claimed it first, it is left to the service. Returns whether it was sent.
   */
  async sendNow(id: string): Promise<boolean> {
    await this.#worker.workOn({ ...store.oneMail(id), jobsMax: 1, work: (mail) => this.#deliver(mail) })
    return !(await store.isWaiting(this.#deps.db, id))
  }

  async caught(filter: store.CaughtFilter, limit: number): Promise<{ mail: Mail; message: Message }[]> {
    const mails = await store.caughtMails(this.#deps.db, filter, limit)
    return Promise.all(mails.map(async (mail) => ({ mail, message: await this.#caughtMessage(mail) })))
  }

  async caughtOne(id: string): Promise<Message | undefined> {
    const mail = await store.caughtMail(this.#deps.db, id)
    return mail && this.#caughtMessage(mail)
  }

  sweep(now: number) {
    return store.pruneMail(now, {
      caught: now - caughtKeptMs,
      noticed: now - noticeEveryMs,
      due: now + Math.max(leaseMs, ...pausesMs) + clockSlackMs,
    })
  }

  async #dueLanes(): Promise<Lane<Mail>[]> {
    const { db, clock } = this.#deps
    for (const drops of [this.#noticesDropped, this.#codesWaiting, this.#codesDropped]) drops.look()
    await this.#admitWaiting()
    const due = await store.dueLanes(db, mailKinds, clock.now())
    this.#found /= 2
    if (!due.includes('codes')) this.#backlog = false
    return due.map((lane) => this.#lanes[lane])
  }

  /** With a backlog, mails are claimed in batches at once; otherwise after the random delay. */
  #next(): void {
    if (!this.#backlog) this.wake()
    else if (this.#worker.jobs <= this.#deps.transport.concurrency / 2) {
      this.#backlog = false
      this.#worker.wake()
    }
  }

  async #process(mail: Mail): Promise<void> {
    try {
      await this.#deliver(mail)
    } catch (error) {
      this.#deps.log.warn({ err: error, mail: mail.id }, 'a mail could not be processed')
    }
  }

  async #deliver(mail: Mail): Promise<void> {
    const { db, clock, transport, findRecipient, strangers } = this.#deps
    const recipient = await findRecipient(mail.role, mail.email.toLowerCase())
    if (clock.now() >= mail.expires_at) return this.#expire(mail, recipient)
    const kind = await this.#kindOf(mail, recipient)
    const owner = recipient ?? (isNotice(kind) ? await this.#otherOwner(mail) : undefined)
    if (kind !== mail.kind && isNotice(kind)) return this.#putBehind(mail, kind, owner)
    if (strangers && isFirstCode(kind, recipient) && mail.admitted_at === null) {
      const admission = await this.#admit(mail, mail.claimed_by)
      if (admission === 'gone') return
      if (admission === 'inbox') return this.#drop(mail, kind, recipient, { why: repeatedCode })
      if (admission !== 'admitted') return this.#wait(mail, kind, recipient, admission)
    }
    const message = messageOf(mail, kind, recipient, this.#deps)
    let reply: string
    try {
      reply = withoutCode(await transport.send(message), message)
    } catch (error) {
      return this.#failed(mail, owner, message, error)
    }
    this.#note(mail, 'sent')
    const now = clock.now()
    await db.tx([
      transport.keeps ? store.keepCaught(mail.id, kind, now) : store.dropMail(mail.id),
      this.#step(mail, kind, owner, { step: 'handed', server: transport.server, reply }),
    ])
    if (this.#wasDown()) await this.#tryAllNow(now)
  }

  #wasDown(): boolean {
    const since = this.#downSince
    this.#downSince = null
    return since !== null && this.#deps.clock.elapsed() - since >= outageMs
  }

  /** After an outage, waiting mails are due at once. */
  async #tryAllNow(now: number): Promise<void> {
    await this.#deps.db.tx([store.tryAllNow(now)])
    this.#worker.wake()
  }

  #step(mail: Mail, kind: MailKind | null, recipient: Recipient | undefined, step: Step) {
    return stepTaken({ mailId: mail.id, at: this.#deps.clock.now(), kind, personId: recipient?.id }, step)
  }

  /** Makes these writes if it is still up to this worker. */
  #decide(
    mail: Mail,
    isOurs: typeof isHeldBy,
    writes: (mail: Mail) => readonly Statement[],
  ): Promise<boolean> {
    const asks = { row: store.lockMail(mail.id) }
    return this.#deps.db.decide(
      decision(asks, ({ row }) =>
        isOurs(mail.claimed_by, row) ? { writes: writes(row), result: true } : { result: false },
      ),
    )
  }

  async #kindOf(mail: Mail, recipient: Recipient | undefined): Promise<MailKind> {
    if (mail.kind === reportKind || mail.kind === 'address-in-use') return mail.kind
    if (mail.kind !== null && isTold(mail.kind)) return mail.kind
    // A code for a new address, unless somebody has confirmed it for an account.
    if (mail.kind === 'address-code')
      return !recipient || recipient.status === 'pending' ? 'address-code' : 'address-in-use'
    if (recipient?.canSignIn) return mail.kind === 'step-up-code' ? mail.kind : 'code'
    if (mail.kind !== null && !isCode(mail.kind)) return mail.kind
    return recipient?.status === 'suspended' ? 'suspended' : this.#absence(mail, recipient)
  }

  /** Only the mail may name the right role: the screen cannot know who is reading it. */
  async #absence({ role, email }: Mail, recipient: Recipient | undefined): Promise<NoticeKind> {
    const other = otherNotice[role]
    const owner = other && (await this.#deps.findRecipient(other.role, email.toLowerCase()))
    if (other && owner?.canSignIn) return other.kind
    return recipient?.status === 'inactive' ? 'not-enabled' : absentNotice[role]
  }

  /** Who has the address in another role: the help desk looks for the mail there. */
  async #otherOwner({ role, email }: Mail): Promise<Recipient | undefined> {
    for (const other of roles) {
      const owner = other !== role && (await this.#deps.findRecipient(other, email.toLowerCase()))
      if (owner) return owner
    }
    return undefined
  }

  async #putBehind(mail: Mail, kind: NoticeKind, recipient: Recipient | undefined): Promise<void> {
    const { db, clock } = this.#deps
    const { id } = mail
    const now = clock.now()
    const inbox = this.#inboxOf(mail)
    const limits = await this.#limitsOf(mail, false)
    const asks = { row: store.lockMail(id), notice: store.lockNotice(inbox), ...limits.locks }
    const choosing = decision(asks, ({ row, notice, ...counts }) => {
      const full = limits.full(counts, now)
      const choice = choiceOf(row, { claim: mail.claimed_by, lastAt: notice?.sent_at ?? 0, full }, now)
      if (choice !== 'chosen') return { result: choice, refused: true }
      const writes = [...limits.take(counts, now), ...store.chooseNotice({ id, kind, inbox, now })]
      return { writes, result: choice }
    })
    const choice = await lookThenDecide(db, choosing)
    if (choice === 'chosen' || choice === 'gone') return
    if (choice === 'over-budget') this.#noticesDropped.note(domainOf(mail.email))
    await this.#drop(mail, kind, recipient, { why: notSentBecause[choice] })
  }

  /**
   * Counts a code to an unconfirmed address, unless a limit has no room or others came first. `claim` is null for one that
   * waits.
   */
  async #admit(mail: Mail, claim: string | null): Promise<Admission> {
    const { db, clock } = this.#deps
    const { id } = mail
    const now = clock.now()
    const limits = await this.#limitsOf(mail, true)
    const before = claim === null ? undefined : store.readQueueBefore(this.#domainOf(mail), now)
    const admitting = decision(
      { row: store.lockMail(id), before, ...limits.locks },
      ({ row, before, ...counts }) => {
        const queue = before?.waits_for ?? null
        const admission = admissionOf(row, { claim, queue, full: limits.full(counts, now) })
        if (admission !== 'admitted') return { result: admission, refused: true }
        return { writes: [...limits.take(counts, now), store.admitMail(id, now)], result: admission }
      },
    )
    return lookThenDecide(db, admitting)
  }

  async #limitsOf(mail: Mail, hasCode: boolean): Promise<MailLimits> {
    const { strangers } = this.#deps
    if (!strangers) return noLimits
    const isKnown = await strangers.knowsDomain(domainOf(mail.email))
    return strangers.of({ inbox: this.#inboxOf(mail), domain: this.#domainOf(mail), isKnown, hasCode })
  }

  #inboxOf({ email }: Mail): string {
    return fingerprint(this.#deps.secrets.current, 'address', inboxOf(email.toLowerCase()))
  }

  #domainOf({ email }: Mail): string {
    return fingerprint(this.#deps.secrets.current, 'domain', domainOf(email))
  }

  /** Nothing was counted. It keeps its place behind those of its queue that were requested before. */
  async #wait(mail: Mail, kind: MailKind, recipient: Recipient | undefined, full: Waited): Promise<void> {
    const queue = full === 'service' ? serviceQueue : this.#domainOf(mail)
    const step = this.#step(mail, kind, recipient, { step: 'deferred', why: waits[full] })
    const isNew = mail.waits_for === null
    const waiting = await this.#decide(mail, isHeldOrWaits, (row) => [
      store.waitForBudget(row, queue),
      ...(isNew ? [step] : []),
    ])
    if (!waiting || !isNew) return
    this.#note(mail, 'waiting')
    this.#codesWaiting.note(domainOf(mail.email))
  }

  /** Serves each queue, that of the whole service first, until it is empty or its budget has no room. */
  async #admitWaiting(): Promise<void> {
    const { db } = this.#deps
    let queue = await store.nextQueue(db, '')
    if (queue === null || (await this.#serve(serviceQueue)) === 'service') return
    for (; queue !== null; queue = await store.nextQueue(db, queue))
      if ((await this.#serve(queue)) === 'service') return
  }

  /** Returns the budget that has no room. */
  async #serve(queue: string): Promise<Waited | null> {
    const { db, clock } = this.#deps
    for (let served = 0; served < servedMax && !this.#stopped; served++) {
      const mail = await store.firstInQueue(db, queue, clock.now())
      if (!mail) return null
      const full = await this.#admit(mail, null)
      if (full === 'inbox') await this.#drop(mail, mail.kind ?? 'code', undefined, { why: repeatedCode })
      else if (full === 'domain' && queue === serviceQueue) await this.#wait(mail, 'code', undefined, full)
      else if (full === 'domain' || full === 'service') return full
    }
    return null
  }

  async #expire(mail: Mail, recipient: Recipient | undefined): Promise<void> {
    if (mail.waits_for === null) return this.#giveUp(mail, recipient, 'expired', {})
    const domain = domainOf(mail.email)
    this.#codesDropped.note(domain)
    await this.#drop(mail, mail.kind ?? 'code', recipient, { why: overBudget, outcome: 'over-budget' })
  }

  async #drop(
    mail: Mail,
    kind: MailKind,
    recipient: Recipient | undefined,
    { why, outcome = 'dropped' }: { why: string; outcome?: MailOutcome },
  ): Promise<void> {
    const step = this.#step(mail, kind, recipient, { step: 'not-sent', why })
    const dropped = await this.#decide(mail, isHeldOrWaits, () => [store.dropMail(mail.id), step])
    if (dropped) this.#note(mail, outcome)
  }

  async #caughtMessage(mail: Mail): Promise<Message> {
    const recipient = await this.#deps.findRecipient(mail.role, mail.email.toLowerCase())
    return messageOf(mail, mail.kind ?? 'code', recipient, this.#deps)
  }

  async #failed(
    mail: Mail,
    recipient: Recipient | undefined,
    message: Message,
    error: unknown,
  ): Promise<void> {
    const { clock, transport, log } = this.#deps
    const { code, responseCode } = errorFields(error)
    const why = error instanceof TokenError ? { why: error.message } : {}
    const note = { mail: mail.id, attempt: mail.attempts, code, responseCode, ...why }
    const said = saidBy(error, message)
    if (transport.isFinal(error)) {
      log.warn(note, 'a mail was refused permanently')
      return this.#giveUp(mail, recipient, 'refused', said)
    }
    const pauseMs = pausesMs[Math.min(mail.attempts, pausesMs.length) - 1]!
    // Retried until its code expires: the server may be back at any moment.
    const nextAt = Math.min(clock.now() + pauseMs, mail.expires_at)
    // Without a reply, or with "closing", the server is in trouble, not this mail.
    if (responseCode === undefined || responseCode === 421) this.#downSince ??= clock.elapsed()
    log.warn(note, 'a mail could not be delivered; it will be retried')
    const step = this.#step(mail, null, recipient, {
      step: 'deferred',
      server: transport.server,
      ...said,
      nextAt,
    })
    const deferred = await this.#decide(mail, isHeldBy, () => [step, release(store.mails, mail, nextAt)])
    if (deferred) this.#note(mail, 'deferred')
  }

  async #giveUp(
    mail: Mail,
    recipient: Recipient | undefined,
    reason: 'expired' | 'refused',
    said: Said,
  ): Promise<void> {
    const { clock, transport } = this.#deps
    const why = reason === 'expired' ? 'it could not be delivered in time' : said.why
    const step = this.#step(mail, null, recipient, { step: 'failed', server: transport.server, ...said, why })
    const failure = { reason, personId: recipient?.id, now: clock.now() }
    const failed = await this.#decide(mail, isHeldBy, (row) => [step, ...store.failMail(row, failure)])
    if (failed) this.#note(mail, reason)
  }

  #note({ created_at }: Mail, outcome: MailOutcome): void {
    this.#deps.noted?.(outcome, Math.max(0, this.#deps.clock.now() - created_at))
  }
}

const notSentBecause = {
  repeated: 'this inbox had a mail without a code in the last 24 hours',
  'over-budget': 'too many mails without a code are being requested, for this domain or overall',
} as const

const repeatedCode = 'this address is unconfirmed and had three mails with a code in the last 24 hours'

type Waited = Exclude<Limit, 'inbox'>

const waits: Record<Waited, string> = {
  domain: 'too many first codes are being requested for this domain; it waits until more may be sent',
  service: 'too many first codes are being requested; it waits until more may be sent',
}

const overBudget =
  'too many first codes were requested, for this domain or overall, until the code had expired'

/** How the doctor finds first codes that were dropped, and those that waited for the budget of the whole service. */
export const lateFirstCodes = { why: overBudget, overall: waits.service, queue: serviceQueue } as const

const noticesDropped: DropLines = {
  began: 'mails without a code have exceeded their budget; further ones are dropped',
  over: 'mails without a code are within their budget again',
}
const codesWaiting: DropLines = {
  began: 'first codes have exceeded their budget; further ones wait until more may be sent',
  over: 'first codes are within their budget again',
}
const codesDropped: DropLines = {
  began: 'first codes are dropped: they have expired while they waited for their budget',
  over: 'no more first codes are dropped',
}

/** A code to an unconfirmed address: a first sign-in, or a new address of a signed-in person. */
function isFirstCode(kind: MailKind, recipient: Recipient | undefined): boolean {
  return kind === 'address-code' || (kind === 'code' && recipient?.status === 'pending')
}
