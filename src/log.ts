import { Console } from 'node:console'
import { createRequire } from 'node:module'
import { Writable } from 'node:stream'
import { type DestinationStream, type Logger, pino } from 'pino'
import type pretty from 'pino-pretty'

/** What is noted of a request. None of it needs escaping: names of methods, patterns of routes, ids and numbers. */
export interface RequestNote {
  readonly requestId: string
  /** Null if the request could not be read. */
  readonly method: string | null
  readonly route: string | null
  /** What was sent; null if the client went away first. */
  readonly status: number | null
  /** Whether the client went away before it had the whole reply. */
  readonly aborted: boolean
  readonly ms: number
  /** Hexadecimal, from a `traceparent` that was checked. */
  readonly traceId?: string | undefined
}

export interface Log extends Logger {
  /** As `info` would write it, for a third of the cost: there is one for every request. */
  request(note: RequestNote): void
}

/** For people on a terminal, for machines otherwise; to standard output unless told. */
export function createLog(forPeople: boolean, stream = forPeople ? painted() : linesOfATurn()): Log {
  const log = pino({ base: null, timestamp: timeField, serializers: { err: describeError } }, stream)
  const level = pino.levels.values.info
  return Object.assign(log, {
    request({ requestId, method, route, status, aborted, ms, traceId }: RequestNote) {
      const verb = method === null ? 'null' : `"${method}"`
      const pattern = route === null ? 'null' : `"${route}"`
      const gone = aborted ? ',"aborted":true' : ''
      const trace = traceId === undefined ? '' : `,"traceId":"${traceId}"`
      stream.write(
        `{"level":${level}${timeField()},"requestId":"${requestId}","method":${verb},"route":${pattern},"status":${status}${gone},"ms":${ms}${trace},"msg":"request"}\n`,
      )
    },
  })
}

/** What packages print by themselves, and Node's warnings, become lines of the log: its readers expect nothing else. */
export function logWhatOthersPrint(log: Pick<Log, 'warn'>): void {
  const toLog = new Writable({
    decodeStrings: false,
    write(text: string, _encoding, done) {
      log.warn({ printed: true }, text.trimEnd())
      done()
    },
  })
  globalThis.console = new Console({ stdout: toLog, stderr: toLog })
  process.removeAllListeners('warning')
  process.on('warning', ({ name, message }) => log.warn({ warning: name }, message))
}

function painted(): DestinationStream {
  const paint: typeof pretty = createRequire(import.meta.url)('pino-pretty')
  return paint({ colorize: true, translateTime: 'SYS:HH:MM:ss', singleLine: true, sync: true })
}

/** Standard output, written once for all lines of a turn of the event loop, and before the process ends. */
function linesOfATurn(): DestinationStream {
  const out = pino.destination({ dest: 1, sync: true })
  let lines = ''
  const flush = () => {
    const written = lines
    lines = ''
    if (written !== '') out.write(written)
  }
  process.on('exit', flush)
  return {
    write(line) {
      if (lines === '') setImmediate(flush)
      lines += line
    },
  }
}

let lastMs = 0
let lastField = ''

/** As pino's isoTime; many lines share a millisecond. */
function timeField(): string {
  const now = Date.now()
  if (now !== lastMs) {
    lastMs = now
    lastField = `,"time":"${new Date(now).toISOString()}"`
  }
  return lastField
}

/** Not the error's other fields: a database's or mail server's error may carry the values of a row. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error === undefined ? undefined : String(error)
  const { name, message, code, stack } = error as NodeJS.ErrnoException
  return { name, code, message, stack }
}
