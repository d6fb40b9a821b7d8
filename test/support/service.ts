/** The whole service in this process, with a real store, socket and mail server, and a clock that tests control. */
import type { TestContext } from 'node:test'
import type { SMTPServerOptions } from 'smtp-server'
import { type App, createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import type { Clock } from '../../src/platform/lib/clock.ts'
import { createLog } from '../../src/platform/log.ts'
import { type Engine, migratedStore } from './engines.ts'
import { assertListed } from './listed-events.ts'
import { freePort } from './postgres.ts'
import { type MailServer, startMailServer } from './smtp.ts'
import { callsTo } from './wire.ts'

export class TestClock implements Clock {
  #now = Date.parse('2026-11-15T09:00:00.000Z')
  #elapsed = 0

  now(): number {
    return this.#now
  }

  elapsed(): number {
    return this.#elapsed
  }

  advance(ms: number): void {
    this.#now += ms
    this.#elapsed += ms
  }

  /** Somebody sets the clock of the machine: no time passes. */
  jump(ms: number): void {
    this.#now += ms
  }
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read replies freely
  readonly json: any
}

/** Its status, and the code of a problem. */
export const outcome = ({ status, json }: Reply) => [status, json?.code]

/** A wrong answer to a code of six digits. */
export const wrongFor = (code: number) => (code === 100_000 ? 100_001 : code - 1)

export interface RequestOptions {
  readonly method?: string
  /** Sent as JSON; a string is sent unchanged. */
  readonly body?: unknown
  readonly token?: string
  readonly headers?: Record<string, string>
}

export interface SignedIn {
  readonly access: string
  readonly refresh: string
  readonly sessionId: string
  readonly userId: string
}

export interface Calls {
  request(path: string, options?: RequestOptions): Promise<Reply>
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Reply>
}

export interface Service extends Calls {
  readonly url: string
  readonly clock: TestClock
  readonly mail: MailServer
  readonly app: App
  readonly log: string[]
  readonly databaseUrl: string
  register(email: string, names?: { firstname?: string; lastname?: string }): Promise<Reply>
  /** Asks for a code and reads it from the mail. */
  code(
    email: string,
    headers?: Record<string, string>,
  ): Promise<{ sessionId: string; code: number; reference: string }>
  /** Registers first if needed. */
  signIn(email: string, headers?: Record<string, string>): Promise<SignedIn>
  rows<R>(sql: string, params?: (string | number)[]): Promise<R[]>
  stop(): Promise<void>
}

/** A service for one test; `smtp` says how its mail server behaves. */
export async function serviceFor(
  t: TestContext,
  engine: Engine,
  { smtp, ...options }: { env?: Record<string, string>; smtp?: SMTPServerOptions } = {},
): Promise<Service> {
  const mail = await startMailServer(smtp)
  const service = await startService(engine, { ...options, mail })
  t.after(async () => {
    await service.stop()
    await mail.close()
  })
  return service
}

export async function startService(
  engine: Engine,
  options: { env?: Record<string, string>; mail?: MailServer; databaseUrl?: string; clock?: TestClock } = {},
): Promise<Service> {
  const store = options.databaseUrl
    ? { url: options.databaseUrl, remove: async () => {} }
    : await migratedStore(engine)
  const mail = options.mail ?? (await startMailServer())
  const clock = options.clock ?? new TestClock()
  const port = Number(options.env?.CHIRON_PORT ?? (await freePort()))
  const log: string[] = []
  const config = loadConfig({
    CHIRON_PORT: String(port),
    CHIRON_DATABASE_URL: store.url,
    CHIRON_SECRET: 'a secret for tests that is long enough',
    CHIRON_SMTP_URL: mail.url,
    CHIRON_MAIL_FROM: 'Chiron <no-reply@chiron.example>',
    // Lets every test client choose its network with X-Forwarded-For.
    CHIRON_TRUSTED_PROXIES: '127.0.0.1',
    ...options.env,
  })
  const app = await createApp(config, createLog(false, { write: (line) => void log.push(line) }), {
    clock,
    mailDelayMs: [20, 40],
    // Looking is work too, and most tests have no receiver.
    webhooksMs: options.env?.CHIRON_WEBHOOK_ALLOW ? 50 : 250,
  })
  await app.listen()
  const url = `http://127.0.0.1:${port}`

  const service: Service = {
    url,
    clock,
    mail,
    app,
    log,
    databaseUrl: store.url,
    ...callsTo(url),
    register: (email, { firstname = 'Ada', lastname = 'Marsh' } = {}) =>
      service.post('/veterinarian/register', { firstname, lastname, email }),
    async code(email, headers) {
      const before = mail.countTo(email)
      const sent = await service.post('/veterinarian/send-otp', { email }, headers)
      if (sent.status !== 202) throw new Error(`send-otp answered ${sent.status}: ${sent.text}`)
      const { sessionId, reference } = sent.json
      const { code } = await mail.mailWith(email, reference, before)
      return { sessionId, reference, code: code ?? 0 }
    },
    async signIn(email, headers) {
      const registered = await service.register(email)
      if (registered.status !== 202)
        throw new Error(`register answered ${registered.status}: ${registered.text}`)
      const { sessionId, code } = await service.code(email, headers)
      const reply = await service.post(
        '/veterinarian/validate-otp',
        { email, otp_code: code, sessionId },
        headers,
      )
      if (reply.status !== 200) throw new Error(`validate-otp answered ${reply.status}: ${reply.text}`)
      const { access_token, refresh_token, user } = reply.json
      return { access: access_token, refresh: refresh_token, sessionId, userId: user.userId }
    },
    rows: (sql, params) => app.parts.db.all(sql, params) as never,
    async stop() {
      try {
        await assertListed(app.parts.db)
      } finally {
        await app.stop()
        if (!options.mail) await mail.close()
        await store.remove()
      }
    },
  }
  return service
}
