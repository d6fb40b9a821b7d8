/** Progress of an import or a move: a line on a terminal, JSON lines for programs, otherwise nothing. */
import { printJson, printStatus } from './output.ts'

const jsonEveryMs = 1_000
const statusEveryMs = 100
const barWidth = 30

type Progress = (stage: string, done: number, total: number | null) => void

export function progressFor(asJson: boolean): Progress {
  const started = performance.now()
  const rate = (done: number) => Math.round(done / ((performance.now() - started) / 1000))
  if (asJson)
    return every(jsonEveryMs, started, (stage, done, total) =>
      printJson({ type: 'progress', stage, done, total, rowsPerSecond: rate(done) }),
    )
  if (!process.stderr.isTTY) return () => {}
  return every(statusEveryMs, -Infinity, (stage, done, total) =>
    printStatus(`${stage} ${total ? `${bar(done / total)} ` : ''}${done} rows, ${rate(done)}/s`),
  )
}

function every(ms: number, last: number, show: Progress): Progress {
  return (...progress) => {
    if (performance.now() - last < ms) return
    last = performance.now()
    show(...progress)
  }
}

function bar(share: number): string {
  return '█'.repeat(Math.min(barWidth, Math.floor(share * barWidth))).padEnd(barWidth, '░')
}
