/** What a mail server said, without the code that it may quote. */
import { errorFields } from '../../platform/lib/error-fields.ts'
import type { Message } from './message.ts'

export interface Said {
  readonly reply?: string
  readonly why?: string
}

/** The server's reply; without one, the connection error. */
export function saidBy(error: unknown, message: Message): Said {
  const { response, message: why } = errorFields(error)
  if (response) return { reply: withoutCode(response, message) }
  return { why: withoutCode(String(why ?? error), message) }
}

/** A server may quote the mail. The only run of six or eight digits in its text is the code. */
export function withoutCode(reply: string, { text }: Message): string {
  return reply.replace(/(?<!\d)(?:\d{6}|\d{8})(?!\d)/g, (run) => (text.includes(run) ? '…' : run))
}
