import { Console } from 'node:console'
import { createRequire } from 'node:module'
import { Writable } from 'node:stream'
import { type DestinationStream, type Logger, pino } from 'pino'
import type pretty from 'pino-pretty'
import { errorFields } from './lib/error-fields.ts'
import { visibleJsonText } from './lib/visible.ts'

export type Log = Logger

// About 6,000 requests.
const unreadBytesMax = 1024 * 1024

/** Human-readable or JSON, on stdout by default. */
export function createLog(forPeople: boolean, stream?: DestinationStream): Log {
  const tellDropped = (dropped: number) =>
    log.warn({ dropped }, 'log lines were dropped because the output was too slow')
  const log = pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: describeError } },
    stream ?? (forPeople ? painted() : standardOutput(tellDropped)),
  )
  return log
}

/** Turns console output of packages and Node warnings into log lines, so that the output stays valid JSON lines. */
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
  const stream = paint({ colorize: true, translateTime: 'SYS:HH:MM:ss', singleLine: true, sync: true })
  return { write: (line) => void stream.write(spelledOut(line)) }
}

/** A backslash, or a control character that the painter would turn back; line breaks stay. */
const escapes = /\\\\|\\u[0-9a-f]{4}|\\[bfr]/gi

/** So that control characters stay escaped on the terminal. */
export function spelledOut(line: string): string {
  return visibleJsonText(line).replace(escapes, (found) => (found === '\\\\' ? found : `\\${found}`))
}

/**
 * Node buffers writes in memory while the pipe is full. A reader that stops must neither block the service nor fill its
 * memory, so lines beyond a limit are dropped. (pino’s own destination cannot end the process while the pipe is full.)
 */
function standardOutput(tellDropped: (lines: number) => void): DestinationStream {
  const { stdout } = process
  let dropped = 0
  // The reader is gone, so there is nobody to tell.
  stdout.on('error', () => {})
  stdout.on('drain', () => {
    if (dropped === 0) return
    tellDropped(dropped)
    dropped = 0
  })
  return {
    write(line) {
      if (stdout.writableLength < unreadBytesMax) stdout.write(visibleJsonText(line))
      else dropped++
    },
  }
}

/** Resolves when everything logged was written, or after `patienceMs`. */
export function logWritten(patienceMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, patienceMs).unref()
    process.stdout.write('', () => resolve())
  })
}

/** Leaves out all other fields: errors of the database or mail server may contain the values of a row. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error === undefined ? undefined : String(error)
  const { name, message, stack } = error
  return { name, code: errorFields(error).code, message, stack }
}
