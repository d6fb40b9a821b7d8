/** What got slower since the figures in the repository. Only ratios are compared: machines differ. */
import type { Results } from './measure.ts'
import type { Row } from './sweep.ts'

// By the clock a busy machine easily differs by a fifth; by processor time hardly by a tenth.
const keepsByClock = 0.75
const keepsByCpu = 0.85
const memoryGrows = 1.2

/** A line for each row that lost more than the noise of a machine explains. */
export function slower(before: Results, now: Results): string[] {
  const lines: string[] = []
  const compare = (what: string, was: number | undefined, is: number | undefined, keeps: number) => {
    if (was === undefined || is === undefined || is >= was * keeps) return
    lines.push(`${what}: ${was.toPrecision(3)} → ${is.toPrecision(3)} (×${(is / was).toFixed(2)})`)
  }
  const rowsOf = (results: Results) => new Map(results.rows.map((row) => [row.id, row]))
  const rows = rowsOf(now)
  for (const [id, was] of rowsOf(before)) {
    const is: Row | undefined = rows.get(id)
    if (was.id === 'bare' || was.id.includes('/peer-')) continue
    compare(`${id}, ratio to bare`, was.ratio?.median, is?.ratio?.median, keepsByClock)
    compare(`${id}, ratio by CPU`, was.ratioByCpu?.median, is?.ratioByCpu?.median, keepsByCpu)
  }
  for (const [name, was] of Object.entries(before.comparisons))
    compare(name, was?.median, now.comparisons[name]?.median, keepsByClock)
  for (const was of before.once) {
    const is = now.once.find((one) => one.engine === was.engine)!
    const rowsPerBare = (once: typeof was, { rows: [bare] }: Results) =>
      once.rosterRowsPerSecond / bare!.perSecond!.median
    compare(
      `${was.engine}, roster rows for a bare request`,
      rowsPerBare(was, before),
      rowsPerBare(is, now),
      keepsByClock,
    )
    if (is.idleMb > was.idleMb * memoryGrows)
      lines.push(`${was.engine}, idle memory: ${Math.round(was.idleMb)} → ${Math.round(is.idleMb)} MB`)
  }
  return lines
}
