/**
 * Counts what one process does, for Prometheus. It is loaded only if CHIRON_METRICS_PORT is set, and is fed by hooks
 * that `service.ts` and `app.ts` install; no feature knows about it. Labels have few values and nothing personal: a
 * route is its pattern, never a path. figures.ts adds what is read from the store, and workers.ts sums over processes.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { AppError } from '../../errors.ts'
import { type Attack, attackedKinds, limitNames } from '../../identity/limits/limits.ts'
import type { Passkeys } from '../../identity/passkeys/passkeys.ts'
import type { SchoolAccounts } from '../../identity/school-account/school-account.ts'
import type { SignIn } from '../../identity/sign-in/sign-in.ts'
import { type MailOutcome, mailOutcomes } from '../../messages/mail/outbox.ts'
import type { StoreCall, StoreWatch } from '../../platform/db/watched.ts'
import { type Role, roles } from '../../roles.ts'

const signInOutcomes = [
  'sent',
  'resent',
  'right',
  'wrong',
  'exhausted',
  'unusable',
  'refused',
  'failed',
] as const
type SignInOutcome = (typeof signInOutcomes)[number] | 'not-begun'
const schoolRefusals = ['unusable', 'not-begun', 'refused', 'failed'] as const satisfies SignInOutcome[]
const passkeyRefusals = ['unusable', 'refused', 'failed'] as const satisfies SignInOutcome[]

/** A deferred delivery is retried; after three days it has failed. */
const webhookOutcomes = ['delivered', 'deferred', 'failed'] as const
type WebhookOutcome = (typeof webhookOutcomes)[number]

const storeCalls: readonly StoreCall[] = ['read', 'write']
const commonMethods = ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS']
const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const storeBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5]
const mailBuckets = [0.25, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600]

export class Metrics {
  readonly registry = new Registry()
  readonly #requests = this.#counter(
    'chiron_http_requests_total',
    'Requests by method, route pattern and status; "aborted" if the client left first',
    ['method', 'route', 'status'],
  )
  readonly #durations = this.#histogram(
    'chiron_http_request_duration_seconds',
    'Time from the request to the end of its reply',
    requestBuckets,
    ['method', 'route'],
  )
  readonly #errors = this.#counter('chiron_http_errors_total', 'Problems answered, by code', ['code'])
  readonly #limits = this.#counter('chiron_limits_hit_total', 'Requests refused by a limit', ['limit'])
  readonly #signIns = this.#counter(
    'chiron_sign_ins_total',
    'Steps of sign-ins by role, outcome and method; of a refused passkey or school account the role is unknown',
    ['role', 'outcome', 'method'],
  )
  readonly #clientSignIns = this.#counter(
    'chiron_client_sign_ins_total',
    'Sign-ins at applications, by the id of the application',
    ['client'],
  )
  readonly #logoutCalls = this.#counter(
    'chiron_logout_calls_total',
    'Outcomes of telling applications that a session has ended',
    ['outcome'],
  )
  readonly #codes = this.#counter(
    'chiron_codes_total',
    'Sign-ins begun, by the length of their code; eight digits under attack',
    ['digits'],
  )
  readonly #attacks = this.#counter(
    'chiron_attack_thresholds_crossed_total',
    'Thresholds of wrong codes reached, for an address, a network or the service',
    ['on'],
  )
  readonly #mails = this.#counter(
    'chiron_mails_total',
    'Mail delivery outcomes; a deferred mail is retried, and a waiting code is sent when its budget has room',
    ['outcome'],
  )
  readonly #handover = this.#histogram(
    'chiron_mail_handover_seconds',
    'Time from the request for a mail until the mail server accepts it',
    mailBuckets,
  )
  readonly #webhooks = this.#counter('chiron_webhooks_total', 'Outcomes of webhook delivery attempts', [
    'outcome',
  ])
  readonly #sweeps = this.#counter(
    'chiron_sweep_failures_total',
    'Failed parts of the sweep: rows that they should delete or end pile up',
    ['part'],
  )
  readonly #store = this.#histogram(
    'chiron_store_call_duration_seconds',
    'Duration of store calls, including waiting',
    storeBuckets,
    ['call'],
  )
  readonly #storeFailures = this.#counter(
    'chiron_store_failures_total',
    'Calls that failed because the store was unreachable or overloaded',
    ['call'],
  )
  readonly #storeWaiting = new Gauge({
    name: 'chiron_store_calls_waiting',
    help: 'Store calls in flight',
    registers: [this.registry],
  })

  constructor() {
    addProcessMetrics(this.registry)
    this.#startAtZero()
  }

  #counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.registry] })
  }

  #histogram<Label extends string = never>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: Label[] = [],
  ): Histogram<Label> {
    return new Histogram({ name, help, buckets, labelNames, registers: [this.registry] })
  }

  /** A counter that appears only at its first event has no increase that an alert could see. */
  #startAtZero(): void {
    for (const limit of limitNames) this.#limits.inc({ limit }, 0)
    for (const outcome of ['delivered', 'deferred', 'failed']) this.#logoutCalls.inc({ outcome }, 0)
    for (const role of roles) {
      for (const outcome of signInOutcomes) this.#signIns.inc({ role, outcome, method: 'code' }, 0)
      this.#signIns.inc({ role, outcome: 'right', method: 'passkey' }, 0)
      if (role !== 'veterinarian') this.#signIns.inc({ role, outcome: 'right', method: 'school' }, 0)
    }
    for (const outcome of schoolRefusals) this.#signIns.inc({ role: 'unknown', outcome, method: 'school' }, 0)
    for (const outcome of passkeyRefusals)
      this.#signIns.inc({ role: 'unknown', outcome, method: 'passkey' }, 0)
    for (const digits of ['6', '8']) this.#codes.inc({ digits }, 0)
    for (const on of attackedKinds) this.#attacks.inc({ on }, 0)
    for (const outcome of mailOutcomes) this.#mails.inc({ outcome }, 0)
    for (const outcome of webhookOutcomes) this.#webhooks.inc({ outcome }, 0)
    for (const call of storeCalls) this.#storeFailures.inc({ call }, 0)
  }

  answered({ method, route, status, ms }: Answered): void {
    const about = {
      method: method === null ? 'none' : commonMethods.includes(method) ? method : 'other',
      route: route ?? 'unknown',
    }
    this.#requests.inc({ ...about, status: status === null ? 'aborted' : String(status) })
    this.#durations.observe(about, ms / 1000)
  }

  failed({ code, extra: { limit } }: AppError): void {
    this.#errors.inc({ code })
    if (limit !== undefined) this.#limits.inc({ limit })
  }

  attacked({ on }: Attack): void {
    this.#attacks.inc({ on })
  }

  mail(outcome: MailOutcome, tookMs: number): void {
    this.#mails.inc({ outcome })
    if (outcome === 'sent') this.#handover.observe(tookMs / 1000)
  }

  webhook(outcome: WebhookOutcome): void {
    this.#webhooks.inc({ outcome })
  }

  /** `times` 0 makes the series appear before its first failure. */
  sweepFailed(part: string, times = 1): void {
    this.#sweeps.inc({ part }, times)
  }

  readonly storeWatch: StoreWatch = (call) => {
    const since = performance.now()
    this.#storeWaiting.inc()
    return (error) => {
      this.#storeWaiting.dec()
      this.#store.observe({ call }, (performance.now() - since) / 1000)
      if (error instanceof AppError && error.code === 'unavailable') this.#storeFailures.inc({ call })
    }
  }

  watchSignIn(role: Role, signIn: SignInSteps): SignInSteps {
    const count = (outcome: SignInOutcome) => this.#signIns.inc({ role, outcome, method: 'code' })
    const counted = async <Result>(step: Promise<Result>, outcome: SignInOutcome): Promise<Result> => {
      try {
        const result = await step
        count(outcome)
        return result
      } catch (error) {
        count(outcomeOf(error))
        throw error
      }
    }
    return {
      send: async (...args) => {
        const sent = await counted(signIn.send(...args), 'sent')
        this.#codes.inc({ digits: String(sent.digits) })
        return sent
      },
      resend: (...args) => counted(signIn.resend(...args), 'resent'),
      validate: (...args) => counted(signIn.validate(...args), 'right'),
    }
  }

  signedInAt(client: string): void {
    this.#clientSignIns.inc({ client })
  }

  logoutCall(outcome: 'delivered' | 'deferred' | 'failed'): void {
    this.#logoutCalls.inc({ outcome })
  }

  watchPasskeys(passkeys: Pick<Passkeys, 'validate'>): Passkeys['validate'] {
    const method = 'passkey'
    return async (...args) => {
      try {
        const signedIn = await passkeys.validate(...args)
        this.#signIns.inc({ role: signedIn.role, outcome: 'right', method })
        return signedIn
      } catch (error) {
        this.#signIns.inc({ role: 'unknown', outcome: outcomeOf(error), method })
        throw error
      }
    }
  }

  /** Connecting an account is not a sign-in and is not counted; a refusal is, whichever of the two it was. */
  watchSchoolAccounts(accounts: Pick<SchoolAccounts, 'answer'>): SchoolAccounts['answer'] {
    const method = 'school'
    const refused = (outcome: SignInOutcome) => this.#signIns.inc({ role: 'unknown', outcome, method })
    return async (...args) => {
      try {
        const answered = await accounts.answer(...args)
        if (answered.kind === 'signed-in')
          this.#signIns.inc({ role: answered.role, outcome: 'right', method })
        if (answered.kind === 'refused') refused('unusable')
        if (answered.kind === 'not-begun') refused('not-begun')
        return answered
      } catch (error) {
        refused(outcomeOf(error))
        throw error
      }
    }
  }
}

/** A request that is over; `status` is null if the client left before a reply. */
interface Answered {
  readonly method: string | null
  readonly route: string | null
  readonly status: number | null
  readonly ms: number
}

type SignInSteps = Pick<SignIn, 'send' | 'resend' | 'validate'>

function outcomeOf(error: unknown): SignInOutcome {
  if (!(error instanceof AppError)) return 'failed'
  if (error.code === 'otp-incorrect') return error.extra.attemptsLeft === 0 ? 'exhausted' : 'wrong'
  if (error.code === 'otp-unusable' || error.code === 'passkey-unusable') return 'unusable'
  return error.code === 'too-many-requests' ? 'refused' : 'failed'
}

function addProcessMetrics(registry: Registry): void {
  const registers = [registry]
  const lag = monitorEventLoopDelay({ resolution: 10 })
  lag.enable()
  new Gauge({
    name: 'chiron_event_loop_lag_seconds',
    help: 'Event loop delay since the last scrape, 99th percentile; with several processes, the worst',
    aggregator: 'max',
    registers,
    collect() {
      // The histogram includes its own pause of 10 ms.
      this.set(Math.max(0, lag.percentile(99) / 1e9 - 0.01) || 0)
      lag.reset()
    },
  })
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory of the process; with several processes, the sum',
    registers,
    collect() {
      this.set(process.memoryUsage.rss())
    },
  })
  new Gauge({
    name: 'nodejs_heap_size_used_bytes',
    help: 'Used JavaScript heap; with several processes, the sum',
    registers,
    collect() {
      this.set(process.memoryUsage().heapUsed)
    },
  })
  const spent = { seconds: 0 }
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time; with several processes, the sum',
    registers,
    collect() {
      const { user, system } = process.cpuUsage()
      const seconds = (user + system) / 1e6
      this.inc(Math.max(0, seconds - spent.seconds))
      spent.seconds = seconds
    },
  })
}
