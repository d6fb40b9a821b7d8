/** Progress of an import: a bar on a terminal, JSON lines for programs, otherwise nothing. */
import { SingleBar } from 'cli-progress'
import type { Progress } from '../../school/roster/roster.ts'
import { printJson } from './output.ts'

const linesEveryMs = 1_000

export function startProgress(asJson: boolean): { show: Progress; stop(): void } {
  const started = performance.now()
  const rate = (done: number) => Math.round(done / ((performance.now() - started) / 1000))
  if (asJson) {
    let last = started
    return {
      show(stage, done, total) {
        if (performance.now() - last < linesEveryMs) return
        last = performance.now()
        printJson({ type: 'progress', stage, done, total, rowsPerSecond: rate(done) })
      },
      stop() {},
    }
  }
  if (!process.stderr.isTTY) return { show() {}, stop() {} }
  const bar = new SingleBar({
    format: '{stage} {bar} {value} rows, {rate}/s',
    stream: process.stderr,
    clearOnComplete: true,
  })
  let running = false
  return {
    show(stage, done, total) {
      const payload = { stage: stage.padEnd(7), rate: rate(done) }
      if (!running) bar.start(total ?? done, done, payload)
      running = true
      bar.setTotal(total ?? done)
      bar.update(done, payload)
    },
    stop() {
      if (running) bar.stop()
    },
  }
}
