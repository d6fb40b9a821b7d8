import { type DestinationStream, pino } from 'pino'
import pretty from 'pino-pretty'

/** For people on a terminal, for machines otherwise; to standard output unless told. */
export function createLog(forPeople: boolean, stream?: DestinationStream) {
  const options = {
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeError },
  }
  if (stream) return pino(options, stream)
  if (!forPeople) return pino(options)
  return pino(
    options,
    pretty({ colorize: true, translateTime: 'SYS:HH:MM:ss', singleLine: true, sync: true }),
  )
}

/** Not the error's other fields: a database's or mail server's error may carry the values of a row. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error === undefined ? undefined : String(error)
  const { name, message, code, stack } = error as NodeJS.ErrnoException
  return { name, code, message, stack }
}
