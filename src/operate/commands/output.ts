/** The only place where commands write to the terminal. Whatever they print, the terminal obeys none of it. */
import { visible, visibleJson, visibleLines } from '../../platform/lib/visible.ts'

export function print(text: string): void {
  process.stdout.write(`${visibleLines(text)}\n`)
}

export function printJson(value: unknown, indent = 0): void {
  process.stdout.write(`${visibleJson(value, indent)}\n`)
}

/** One line beside the answer. */
export function printAside(line: string): void {
  process.stderr.write(`chiron: ${visible(line.trim().replaceAll(/\s*\n\s*/g, ' '))}\n`)
}

export function printFailure(reason: string, asJson: boolean): void {
  if (asJson) process.stderr.write(`${visibleJson({ error: reason })}\n`)
  else printAside(reason)
}
