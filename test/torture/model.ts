/**
 * What the contract says of people, codes and sessions, as plainly as it can be said: no store, no HTTP, no secrets. Every
 * answer of the service is compared with this one's.
 */
import { day, minute, second } from '../../src/platform/lib/clock.ts'

export type Role = 'veterinarian' | 'student'
/** A status and, for errors, a code. */
export type Outcome = readonly [status: number, code?: string]

interface Account {
  status: 'pending' | 'active' | 'suspended'
  confirmBefore: number
}

interface Challenge {
  readonly role: Role
  readonly address: string
  readonly expiresAt: number
  resendAt: number
  resends: number
  attempts: number
  used: boolean
}

interface Session {
  readonly role: Role
  readonly address: string
  readonly account: Account
  readonly startedAt: number
  lastSeenAt: number
  expiresAt: number
  ended: boolean
  /** The newest refresh token and the one that it was given for, by order of issue. */
  line: number[]
  given: number
  readonly gaveAt: Map<number, number>
}

export class Model {
  now: number
  readonly veterinarians = new Map<string, Account>()
  /** Students who were ever on the roster. */
  readonly students = new Map<string, Account>()
  #rosters: ReadonlySet<string>[] = [new Set()]
  readonly challenges: Challenge[] = []
  readonly sessions: Session[] = []

  constructor(now: number) {
    this.now = now
  }

  register(address: string): Outcome {
    const account = this.#veterinarian(address)
    const confirmBefore = this.now + 7 * day
    if (!account) this.veterinarians.set(address, { status: 'pending', confirmBefore })
    else if (account.status === 'pending') account.confirmBefore = confirmBefore
    return [202]
  }

  send(role: Role, address: string): Outcome {
    this.challenges.push({
      role,
      address,
      expiresAt: this.now + 10 * minute,
      resendAt: this.now + 30 * second,
      resends: 0,
      attempts: 0,
      used: false,
    })
    return [202]
  }

  resend(index: number): Outcome {
    const challenge = this.challenges[index]!
    if (!this.#isOpen(challenge)) return [401, 'otp-unusable']
    if (challenge.resends >= 3 || challenge.resendAt > this.now) return [429, 'too-many-requests']
    challenge.resends++
    challenge.resendAt = this.now + 30 * second
    return [202]
  }

  /** A right answer opens a session. */
  answer(index: number, isRight: boolean): Outcome {
    const challenge = this.challenges[index]!
    if (!this.#isOpen(challenge)) return [401, 'otp-unusable']
    challenge.attempts++
    const { role, address } = challenge
    const account = role === 'veterinarian' ? this.#veterinarian(address) : this.#student(address)
    if (!isRight || !account || account.status === 'suspended') return [401, 'otp-incorrect']
    challenge.used = true
    account.status = 'active'
    this.sessions.push({
      role,
      address,
      account,
      startedAt: this.now,
      lastSeenAt: this.now,
      expiresAt: this.now + 30 * day,
      ended: false,
      line: [0],
      given: 0,
      gaveAt: new Map(),
    })
    return [200]
  }

  /** A request with the access token that was issued at `issuedAt`. */
  use(index: number, issuedAt: number): Outcome {
    if (Math.floor(issuedAt / second) * second + 15 * minute <= this.now) return [401, 'invalid-token']
    const session = this.sessions[index]!
    if (!this.#isAlive(session)) return [401, 'session-ended']
    if (this.now - session.lastSeenAt >= minute) this.#seen(session)
    return [200]
  }

  /** Returns the number of the refresh token that comes back, too. */
  refresh(index: number, token: number): { outcome: Outcome; given?: number } {
    const session = this.sessions[index]!
    const refused = { outcome: [401, 'session-ended'] } as const
    if (!this.#isAlive(session)) return refused
    const place = session.line.indexOf(token)
    const inGrace = this.now - (session.gaveAt.get(token) ?? Number.NEGATIVE_INFINITY) <= 30 * second
    if (place === -1) {
      session.ended = true
      return refused
    }
    if (place > 0 && inGrace) return { outcome: [200], given: session.line[0]! }
    session.given++
    session.line = [session.given, token]
    session.gaveAt.set(token, this.now)
    this.#seen(session)
    return { outcome: [200], given: session.given }
  }

  signOut(index: number, issuedAt: number, everywhere: boolean): Outcome {
    const used = this.use(index, issuedAt)
    if (used[0] !== 200) return used
    const own = this.sessions[index]!
    for (const session of this.sessions)
      if (session === own || (everywhere && session.account === own.account)) session.ended = true
    return [204]
  }

  close(index: number, issuedAt: number): Outcome {
    const session = this.sessions[index]!
    const used = this.use(index, issuedAt)
    if (used[0] !== 200) return used
    if (session.role !== 'veterinarian') return [403, 'forbidden']
    if (this.now - session.startedAt > 10 * minute) return [403, 'recent-sign-in-required']
    this.veterinarians.delete(session.address)
    this.#endAll(session.account)
    return [204]
  }

  /** Whether an operator can do it; if so it is done. */
  suspend(role: Role, address: string): boolean {
    const account = role === 'veterinarian' ? this.#veterinarian(address) : this.#student(address)
    if (account?.status !== 'active') return false
    account.status = 'suspended'
    this.#endAll(account)
    return true
  }

  reactivate(role: Role, address: string): boolean {
    const account = role === 'veterinarian' ? this.#veterinarian(address) : this.students.get(address)
    if (account?.status !== 'suspended') return false
    account.status = 'active'
    return true
  }

  import(students: ReadonlySet<string>): void {
    if (sameSet(students, this.#rosters.at(-1)!)) return
    for (const address of students)
      if (!this.students.has(address)) this.students.set(address, { status: 'active', confirmBefore: 0 })
    this.#rosters.push(students)
    this.#endDeparted()
  }

  canUndo(): boolean {
    return this.#rosters.length > 1
  }

  undo(): void {
    this.#rosters.pop()
    this.#endDeparted()
  }

  isOnRoster(address: string): boolean {
    return this.#rosters.at(-1)!.has(address)
  }

  #veterinarian(address: string): Account | undefined {
    const account = this.veterinarians.get(address)
    if (account?.status === 'pending' && account.confirmBefore <= this.now) this.veterinarians.delete(address)
    return this.veterinarians.get(address)
  }

  #student(address: string): Account | undefined {
    return this.isOnRoster(address) ? this.students.get(address) : undefined
  }

  #isOpen({ expiresAt, attempts, used }: Challenge): boolean {
    return expiresAt > this.now && attempts < 5 && !used
  }

  #isAlive({ ended, expiresAt, account }: Session): boolean {
    return !ended && expiresAt > this.now && account.status === 'active'
  }

  #seen(session: Session): void {
    session.lastSeenAt = this.now
    session.expiresAt = Math.min(session.startedAt + 90 * day, this.now + 30 * day)
  }

  #endAll(account: Account): void {
    for (const session of this.sessions) if (session.account === account) session.ended = true
  }

  #endDeparted(): void {
    for (const session of this.sessions)
      if (session.role === 'student' && !this.isOnRoster(session.address)) session.ended = true
  }
}

const sameSet = (a: ReadonlySet<string>, b: ReadonlySet<string>) => a.size === b.size && a.isSubsetOf(b)
