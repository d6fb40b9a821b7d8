import { Console } from 'node:console'
import { createRequire } from 'node:module'
import { Writable } from 'node:stream'
import { type DestinationStream, type Logger, pino } from 'pino'
import type pretty from 'pino-pretty'

export type Log = Logger

// Some 6,000 requests.
const unreadBytesMax = 1024 * 1024

/** For people on a terminal, for machines otherwise; to standard output unless told. */
export function createLog(forPeople: boolean, stream?: DestinationStream): Log {
  const tellDropped = (dropped: number) =>
    log.warn({ dropped }, 'nobody read the log in time; lines are missing')
  const log = pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: describeError } },
    stream ?? (forPeople ? painted() : standardOutput(tellDropped)),
  )
  return log
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

/**
 * Writes to a pipe wait in memory while it is full. Whoever does not read it must not hold up the service, nor fill its
 * memory: lines beyond a limit are dropped. (Not pino's own destination: with a full pipe it cannot end the process.)
 */
function standardOutput(tellDropped: (lines: number) => void): DestinationStream {
  const { stdout } = process
  let dropped = 0
  // The reader went away. There is nobody to tell.
  stdout.on('error', () => {})
  stdout.on('drain', () => {
    if (dropped === 0) return
    tellDropped(dropped)
    dropped = 0
  })
  return {
    write(line) {
      if (stdout.writableLength < unreadBytesMax) stdout.write(line)
      else dropped++
    },
  }
}

/** What was logged is out of the process, or nobody takes it. */
export function logWritten(patienceMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, patienceMs).unref()
    process.stdout.write('', () => resolve())
  })
}

/** Not the error's other fields: a database's or mail server's error may carry the values of a row. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error === undefined ? undefined : String(error)
  const { name, message, code, stack } = error as NodeJS.ErrnoException
  return { name, code, message, stack }
}
