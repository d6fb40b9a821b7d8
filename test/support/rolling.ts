/**
 * A pair of processes on one PostgreSQL store, under the load of a small school, while they are replaced one after the
 * other. `Load.check` compares the replies with the store, the feed, the webhooks and the mails.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openDb } from '../../src/platform/db/open.ts'
import { type Child, startProcess } from './child.ts'
import { freshAddress, freshNetwork, repeat } from './fresh.ts'
import { freePort } from './postgres.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { addUser, bulk, enrol, newSchool } from './roster-school.ts'
import type { Calls, Reply, RequestOptions } from './service.ts'
import { type MailServer, startMailServer } from './smtp.ts'
import { eventually, pause } from './wait.ts'
import { callsTo } from './wire.ts'

/** A version of Chiron: a folder with its sources and packages. */
export interface Program {
  readonly name: string
  readonly folder: string
}

/** A program to change, or to run beside the one it is made of. */
export function copyProgram(from: string, to: string): void {
  for (const part of ['src', 'migrations', 'demo', 'web/dist'])
    cpSync(join(from, part), join(to, part), { recursive: true })
  for (const part of ['package.json', 'node_modules']) symlinkSync(join(from, part), join(to, part))
}

interface Member {
  readonly port: number
  readonly url: string
  program: Program
  child: Child
}

export class RefusesToStart extends Error {}

export class Pair {
  readonly members: Member[] = []
  readonly #env: Record<string, string>

  constructor(env: Record<string, string>) {
    this.#env = env
  }

  async start(program: Program): Promise<void> {
    for (let i = 0; i < 2; i++) {
      const port = await freePort()
      const url = `http://127.0.0.1:${port}`
      this.members.push({ port, url, program, child: this.#serve(program, port) })
    }
    await Promise.all(this.members.map(ready))
  }

  /** Ends one process and starts another in its place. */
  async replace(i: number, program: Program): Promise<void> {
    const member = this.members[i]!
    const { code, signal } = await member.child.end()
    assert.deepEqual([code, signal], [0, null], member.child.output.err)
    await this.startAgain(i, program)
  }

  /** In the place of a process that has ended. */
  async startAgain(i: number, program: Program): Promise<void> {
    const member = this.members[i]!
    member.program = program
    member.child = this.#serve(program, member.port)
    await ready(member)
  }

  /** Runs a command of this program on the store. */
  async run(program: Program, ...args: string[]): Promise<string> {
    const command = ['--', join(program.folder, 'src/main.js'), ...args]
    const { PATH, NODE_COMPILE_CACHE } = process.env
    const env = { PATH, NODE_COMPILE_CACHE, ...this.#env }
    const { stdout } = await promisify(execFile)(process.execPath, command, { env, cwd: program.folder })
    return stdout
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map(({ child }) => child.end('SIGINT')))
  }

  #serve({ folder }: Program, port: number): Child {
    const env = { ...this.#env, CHIRON_PORT: String(port) }
    return startProcess(process.execPath, ['--', join(folder, 'src/main.js'), 'serve'], { cwd: folder, env })
  }
}

async function ready({ url, child }: Member): Promise<void> {
  let ended = false
  child.exited.then(() => {
    ended = true
  })
  await eventually('a process is ready', async () => {
    if (ended) throw new RefusesToStart(child.output.err || child.output.out)
    return (await fetch(`${url}/health/ready`).catch(() => null))?.ok
  })
}

/** Sends each request to a process that is ready, as a proxy does that asks often. */
export class Balancer implements Calls {
  readonly #members: readonly { calls: Calls; isReady: boolean }[]
  readonly #timer: NodeJS.Timeout
  #turn = 0

  constructor(members: readonly { readonly url: string }[]) {
    this.#members = members.map(({ url }) => ({ calls: callsTo(url), isReady: true }))
    this.#timer = setInterval(() => {
      for (const member of this.#members)
        member.calls.request('/health/ready').then(
          ({ status }) => {
            member.isReady = status === 200
          },
          () => {
            member.isReady = false
          },
        )
    }, askedEveryMs)
  }

  request(path: string, options?: RequestOptions): Promise<Reply> {
    const open = this.#members.filter(({ isReady }) => isReady)
    assert.ok(open.length > 0, 'no process is ready')
    return open[this.#turn++ % open.length]!.calls.request(path, options)
  }

  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Reply> {
    return this.request(path, { body, ...(headers && { headers }) })
  }

  /** Whether every process gets requests. */
  isComplete(): boolean {
    return this.#members.every(({ isReady }) => isReady)
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}

const askedEveryMs = 250

/** Somebody who signed in, and what they were last told. */
interface Guest {
  readonly email: string
  readonly userId: string
  readonly sessionId: string
  firstname: string
  refresh: string
  isSignedOut: boolean
}

interface FeedEvent {
  readonly id: string
  readonly number: number
  readonly type: string
  readonly userId: string | null
}

const guestsAtOnce = 4
const betweenMs = 100
const admin = 'grace@school.example'
const secret = 'a secret for tests that is long enough'

export class Load {
  readonly env: Record<string, string>
  /** Requests with an unexpected reply. */
  readonly failures: string[] = []
  readonly guests: Guest[] = []
  requests = 0
  readonly #databaseUrl: string
  readonly #mail: MailServer
  readonly #receiver: Receiver
  readonly #feed: FeedEvent[] = []
  /** The expected number of mails to each address. */
  readonly #mails = new Map<string, number>()
  readonly #school = newSchool(20)
  #calls!: Calls
  #stopped = false
  #runs: Promise<void>[] = []

  static async prepare(databaseUrl: string): Promise<Load> {
    return new Load(databaseUrl, await startMailServer(), await startReceiver())
  }

  private constructor(databaseUrl: string, mail: MailServer, receiver: Receiver) {
    this.#databaseUrl = databaseUrl
    this.#mail = mail
    this.#receiver = receiver
    this.env = {
      CHIRON_DATABASE_URL: databaseUrl,
      CHIRON_PUBLIC_URL: 'http://chiron.localhost',
      CHIRON_SECRET: secret,
      CHIRON_SMTP_URL: mail.url,
      CHIRON_TRUSTED_PROXIES: '127.0.0.1',
      CHIRON_WEBHOOK_ALLOW: '127.0.0.1',
      CHIRON_LIMITS: 'off',
    }
  }

  /** Makes a school in an empty store. A service that finds none would load its own. */
  async fill(pair: Pair, program: Program): Promise<void> {
    await pair.run(program, 'webhooks', 'add', this.#receiver.url, '--events', '*')
    await Promise.all([
      this.import(pair, program),
      pair.run(program, 'staff', 'add', admin, '--name', 'Grace Hopper', '--may', 'admin'),
    ])
  }

  async start(calls: Calls): Promise<void> {
    this.#calls = calls
    const { token } = await this.#signIn('staff', admin)
    const loop = async (work: () => Promise<void>) => {
      while (!this.#stopped) {
        await work().catch((error) => this.failures.push(String(error)))
        await pause(betweenMs)
      }
    }
    this.#runs = [
      loop(() => this.#readFeed(token)),
      loop(() => this.#student()),
      loop(() => this.#openPage()),
      ...Array.from({ length: guestsAtOnce }, () => loop(() => this.#visit())),
    ]
  }

  /** One more student, imported by this program. */
  async import(pair: Pair, program: Program): Promise<void> {
    const id = `stu-${this.#school.users.size + 100}`
    addUser(this.#school, id, 'student')
    enrol(this.#school, id, 'class-1')
    await pair.run(program, 'roster', 'import', bulk(this.#school), '--yes')
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#runs)
  }

  /** Call it while processes run, after `stop`. */
  async check(): Promise<void> {
    assert.deepEqual(this.failures, [])
    const people = new Map(this.guests.map((guest) => [guest.userId, guest]))
    assert.equal(people.size, this.guests.length)
    await repeat(this.guests.length, (i) => this.#checkGuest(this.guests[i]!))

    const db = openDb(this.#databaseUrl)
    const stored = await eventually('all events are numbered and sent', async () => {
      const events = await db.all<FeedEvent & { person_id: string; session_id: string | null }>(
        'select id, number, type, person_id, session_id from event order by number',
      )
      const isDone = events.every(({ number }) => number !== null)
      return isDone && this.#receiver.received.length >= events.length && events
    }).finally(() => db.close())
    assert.deepEqual(
      stored.map(({ number }) => number),
      stored.map((_, i) => i + 1),
      'numbers without a gap',
    )
    assert.deepEqual(
      this.#feed.map(({ id }) => id),
      stored.slice(0, this.#feed.length).map(({ id }) => id),
      'a reader of the feed saw every event once, in order',
    )
    const sent = this.#receiver.received.map(({ event }) => event as FeedEvent)
    assert.deepEqual(sent.map(({ id }) => id).sort(), stored.map(({ id }) => id).sort(), 'webhooks sent once')
    const last = new Map<string | null, number>()
    for (const { userId, number } of sent) {
      assert.ok(userId === null || number > (last.get(userId) ?? 0), 'in order for each person')
      last.set(userId, number)
    }
    const added = stored.filter(({ type }) => type === 'student.added').length
    assert.equal(added, [...this.#school.users.keys()].filter((id) => id.startsWith('stu-')).length)
    assert.ok(!stored.some(({ type }) => type === 'student.updated'), 'no import changed what is the same')
    for (const guest of this.guests) {
      const types = stored.filter(({ person_id }) => person_id === guest.userId).map(({ type }) => type)
      const count = (type: string) => types.filter((each) => each === type).length
      for (const type of ['veterinarian.registered', 'veterinarian.activated', 'session.started'])
        assert.equal(count(type), 1, `${type} of ${guest.email}`)
      assert.equal(count('session.ended'), guest.isSignedOut ? 1 : 0, `session.ended of ${guest.email}`)
    }
    const mails = new Map<string, number>()
    for (const { to } of this.#mail.received) mails.set(to, (mails.get(to) ?? 0) + 1)
    assert.deepEqual(mails, this.#mails)
  }

  async close(): Promise<void> {
    await Promise.all([this.#mail.close(), this.#receiver.close()])
  }

  /** Somebody registers, signs in, reads, changes their name, renews their tokens, and every third time signs out. */
  async #visit(): Promise<void> {
    const email = freshAddress('guest')
    const names = { firstname: 'Ada', lastname: 'Marsh' }
    await this.#ask(202, '/veterinarian/register', { body: { ...names, email }, headers: freshNetwork() })
    const { token, refresh, sessionId, userId } = await this.#signIn('veterinarian', email)
    const guest: Guest = { email, userId, sessionId, firstname: 'Ada', refresh, isSignedOut: false }
    this.guests.push(guest)
    await this.#read(guest, token)
    const firstname = `Ada ${String.fromCharCode(65 + (this.guests.length % 26))}`
    await this.#ask(200, '/veterinarian/me', { method: 'PATCH', body: { firstname }, token })
    guest.firstname = firstname
    const renewed = await this.#renew(guest)
    await this.#read(guest, renewed)
    const { json } = await this.#ask(200, '/session', { token: renewed })
    assert.equal(json.sessions.length, 1)
    if (this.guests.length % 3 !== 0) return
    await this.#ask(204, '/session', { method: 'DELETE', token: renewed })
    guest.isSignedOut = true
    // At each process.
    for (let i = 0; i < 2; i++) await this.#ask(401, '/veterinarian/me', { token: renewed })
  }

  async #student(): Promise<void> {
    const { token } = await this.#signIn('student', `stu-${1 + (this.requests % 20)}@school.example`)
    await this.#ask(200, '/student/me', { token })
    const { json } = await this.#ask(200, '/student/me/classes?when=all', { token })
    assert.equal(json.classes.length, 1)
  }

  /** A page and the files that it names. */
  async #openPage(): Promise<void> {
    const { text } = await this.#ask(200, '/', { headers: freshNetwork() })
    const files = [...new Set([...text.matchAll(/"(\/web\/[^"]+)"/g)].map(([, file]) => file!))]
    assert.ok(files.length > 1, 'the portal was built')
    for (const file of files) await this.#ask(200, file, {})
  }

  async #read({ userId, firstname }: Guest, token: string): Promise<void> {
    const own = await this.#ask(200, '/veterinarian/me', { token })
    assert.deepEqual([own.json.userId, own.json.firstname], [userId, firstname])
    await this.#ask(200, `/veterinarian/${userId}`, { headers: freshNetwork() })
  }

  async #renew(guest: Guest): Promise<string> {
    const { json } = await this.#ask(200, '/session/refresh', {
      body: { refresh_token: guest.refresh },
      headers: freshNetwork(),
    })
    guest.refresh = json.refresh_token
    return json.access_token
  }

  async #checkGuest(guest: Guest): Promise<void> {
    if (!guest.isSignedOut) return this.#read(guest, await this.#renew(guest))
    const body = { refresh_token: guest.refresh }
    await this.#ask(401, '/session/refresh', { body, headers: freshNetwork() })
  }

  async #signIn(role: string, email: string) {
    const headers = freshNetwork()
    const { json } = await this.#ask(202, `/${role}/send-otp`, { body: { email }, headers })
    const { sessionId } = json
    const nth = (this.#mails.get(email) ?? 0) + 1
    this.#mails.set(email, nth)
    const { code } = await this.#mail.mailTo(email, nth)
    const body = { email, otp_code: code, sessionId }
    const reply = await this.#ask(200, `/${role}/validate-otp`, { body, headers })
    const { access_token: token, refresh_token: refresh, user } = reply.json
    return { token, refresh, sessionId, userId: user.userId } as Record<
      'token' | 'refresh' | 'sessionId' | 'userId',
      string
    >
  }

  async #readFeed(token: string): Promise<void> {
    const after = this.#feed.at(-1)?.number ?? 0
    const { json } = await this.#ask(200, `/staff/events?after=${after}&limit=1000`, { token })
    this.#feed.push(...json.events)
  }

  async #ask(status: number, path: string, options: RequestOptions): Promise<Reply> {
    this.requests++
    const reply = await this.#calls.request(path, options)
    if (reply.status !== status) throw new Error(`${path} answered ${reply.status}: ${reply.text}`)
    return reply
  }
}
