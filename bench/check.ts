/** What got slower since the figures in the repository. Only ratios to the bare server are compared: machines differ. */
import type { Figure, Results } from './results.ts'

/** Two processes of one build, hours apart, were seen to differ by this much. */
const least = { request: 0.05, 'sign-in': 0.08 }

const keyOf = ({ service, id, engine, accounts, workers }: Figure) =>
  [service, id, engine, accounts, workers].join(' ')

/** Slower only where the spreads do not touch. */
export function slower(kept: Results, figures: readonly Figure[]): string[] {
  const before = new Map(kept.figures.map((figure) => [keyOf(figure), figure]))
  return figures.flatMap((now) => {
    const was = before.get(keyOf(now))
    if (!was) return []
    const share = now.ratio.median / was.ratio.median
    const isBeyond = now.ratio.high < was.ratio.low
    if (!isBeyond || share > 1 - (now.id === 'sign-in' ? least['sign-in'] : least.request)) return []
    const text = (ratio: Figure['ratio']) =>
      `${ratio.median.toPrecision(3)} (${ratio.low.toPrecision(3)} to ${ratio.high.toPrecision(3)})`
    return [`${now.engine} ${now.name}: ${text(was.ratio)} of bare, now ${text(now.ratio)}`]
  })
}
