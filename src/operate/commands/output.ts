/**
 * The only place where commands write to the terminal. Control characters are escaped, so the terminal obeys none of
 * them.
 */
import { visible, visibleJson, visibleLines } from '../../platform/lib/visible.ts'

let hasStatus = false

/** A line on a terminal that lasts until something else is printed. */
export function printStatus(text: string): void {
  // A terminal that does not know its width says 0.
  const width = process.stderr.columns || 80
  process.stderr.write(`\r${visible(text).slice(0, width - 1)}\u001b[K`)
  hasStatus = true
}

function clearStatus(): void {
  if (hasStatus) process.stderr.write('\r\u001b[K')
  hasStatus = false
}

export function print(text: string): void {
  clearStatus()
  process.stdout.write(`${visibleLines(text)}\n`)
}

export function printJson(value: unknown, indent = 0): void {
  clearStatus()
  process.stdout.write(`${visibleJson(value, indent)}\n`)
}

/** One line beside the answer. */
export function printAside(line: string): void {
  clearStatus()
  process.stderr.write(`chiron: ${visible(line.trim().replaceAll(/\s*\n\s*/g, ' '))}\n`)
}

export function printFailure(reason: string, asJson: boolean): void {
  if (asJson) process.stderr.write(`${visibleJson({ error: reason })}\n`)
  else printAside(reason)
}
