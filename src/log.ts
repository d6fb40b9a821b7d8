import { pino } from 'pino'
import pretty from 'pino-pretty'

/** For people on a terminal, for machines otherwise. Both to standard output, synchronously, so nothing is lost. */
export function createLog(forPeople: boolean) {
  const options = { base: null, timestamp: pino.stdTimeFunctions.isoTime }
  if (!forPeople) return pino(options)
  return pino(
    options,
    pretty({
      colorize: true,
      translateTime: 'SYS:HH:MM:ss',
      singleLine: true,
      sync: true,
      hideObject: false,
    }),
  )
}
