import { createRequire } from 'node:module'
import { type DestinationStream, pino } from 'pino'
import type pretty from 'pino-pretty'

/** For people on a terminal, for machines otherwise; to standard output unless told. */
export function createLog(forPeople: boolean, stream?: DestinationStream) {
  const options = {
    base: null,
    timestamp: timeField,
    serializers: { err: describeError },
  }
  if (stream) return pino(options, stream)
  if (!forPeople) return pino(options, linesOfATurn())
  const paint: typeof pretty = createRequire(import.meta.url)('pino-pretty')
  return pino(options, paint({ colorize: true, translateTime: 'SYS:HH:MM:ss', singleLine: true, sync: true }))
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
