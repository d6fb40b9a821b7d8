/** A chart of the ratios, as an SVG that is legible on light and on dark pages. */
import type { Results } from './measure.ts'
import type { Spread } from './statistics.ts'
import { engines } from './stores.ts'
import { targets } from './targets.ts'

const width = 860
const labelWidth = 250
const right = 70
const barHeight = 13
const rowHeight = 40
const axisHeight = 46
const top = 84

/** Whole sign-ins are so much more work than single requests that they need a scale of their own. */
const panels: readonly { readonly step: number; readonly rows: readonly [id: string, label: string][] }[] = [
  {
    step: 0.1,
    rows: [
      ['me', 'GET /veterinarian/me'],
      ['me-limited', '… limits on'],
      ['student', 'GET /student/me'],
      ['profile', 'GET /veterinarian/{userId}'],
      ['not-modified', '… 304'],
      ['classes', 'GET /student/me/classes'],
      ['refresh', 'POST /session/refresh'],
      ['register', 'POST /veterinarian/register'],
      ['peer-session', 'Better Auth: get-session'],
    ],
  },
  {
    step: 0.01,
    rows: [
      ['sign-in', 'whole sign-in'],
      ['sign-in-limited', '… limits on'],
      ['peer-sign-in', 'Better Auth: whole sign-in'],
    ],
  },
]

const style = `
  .page { fill: #fff } text { fill: #22302c; font: 13px system-ui, sans-serif }
  .title { font-size: 17px; font-weight: 600 } .note { fill: #5b6762; font-size: 12px } .line { stroke: #dcd7cc }
  .sqlite { fill: #1d6b5a } .postgres { fill: #c27b2a } .target { stroke: #b3261e; stroke-width: 2 } .spread { stroke: #22302c }
  @media (prefers-color-scheme: dark) {
    .page { fill: #14201d } text { fill: #e6ece9 } .note { fill: #9db0a9 } .line { stroke: #33443f }
    .sqlite { fill: #58b79f } .postgres { fill: #e3a65c } .target { stroke: #ff8a80 } .spread { stroke: #e6ece9 }
  }`

const escaped = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;')
const px = (value: number) => value.toFixed(1)

export function chart(results: Results): string {
  let y = top
  const parts = panels.map((panel) => {
    const drawn = drawPanel(panel, y, results)
    y += panel.rows.length * rowHeight + axisHeight
    return drawn
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" width="${width}" height="${y}" role="img" aria-label="Requests a second as a share of a bare node:http server">
<style>${style}
</style>
<rect class="page" width="${width}" height="${y}" rx="8"/>
<text class="title" x="16" y="30">A second’s work, as a share of the requests that a bare node:http server answers</text>
<text class="note" x="16" y="50">${escaped(subtitle(results))}</text>
<rect class="sqlite" x="16" y="61" width="12" height="12"/><text class="note" x="33" y="71">SQLite</text>
<rect class="postgres" x="90" y="61" width="12" height="12"/><text class="note" x="107" y="71">PostgreSQL</text>
<line class="target" x1="194" x2="194" y1="60" y2="74"/><text class="note" x="201" y="71">target</text>
${parts.join('\n')}
</svg>
`
}

function subtitle({ machine, sizes, date, rows: [bare] }: Results): string {
  const rate = Math.round(bare?.perSecond?.median ?? 0).toLocaleString('en')
  const accounts = sizes.accounts.at(-1)!.toLocaleString('en')
  return `${accounts} accounts, one process on one core, bare = ${rate}/s · ${machine.cpu}, Node ${machine.node}, ${date}`
}

function drawPanel({ step, rows }: (typeof panels)[number], y: number, results: Results): string {
  const measured = rows.map(([id, label]) => {
    const [first, ...others] = engines.map(
      (engine) => results.rows.find((row) => row.id === `${engine}/${id}`)!,
    )
    const target = targets(results).find(({ unit, name }) => unit === 'of bare' && name === first!.name)
    return { label, bars: [first!, ...others], target: target?.wanted ?? null }
  })
  const most = Math.max(
    ...measured.flatMap(({ bars, target }) => [target ?? 0, ...bars.map((row) => row.ratio?.q3 ?? 0)]),
  )
  const steps = Math.ceil((most * 1.05) / step)
  const x = (ratio: number) => labelWidth + (ratio / (steps * step)) * (width - labelWidth - right)
  const bottom = y + rows.length * rowHeight
  const grid = Array.from({ length: steps + 1 }, (_, i) => i * step).map(
    (at) =>
      `<line class="line" x1="${px(x(at))}" x2="${px(x(at))}" y1="${y}" y2="${bottom}"/>` +
      `<text class="note" x="${px(x(at))}" y="${bottom + 16}" text-anchor="middle">${Number(at.toFixed(2))}</text>`,
  )
  const lines = measured.map(({ label, bars, target }, i) => {
    const at = y + 5 + i * rowHeight
    const name = `<text x="${labelWidth - 12}" y="${at + barHeight + 5}" text-anchor="end">${escaped(label)}</text>`
    const drawn = bars.map((row, b) => barAt(row.engine!, row.ratio, at + b * (barHeight + 3), x))
    const mark = target === null ? '' : targetAt(x(target), at)
    return name + drawn.join('') + mark
  })
  return [...grid, ...lines].join('\n')
}

function targetAt(x: number, y: number): string {
  return `<line class="target" x1="${px(x)}" x2="${px(x)}" y1="${y - 2}" y2="${y + 2 * barHeight + 5}"/>`
}

function barAt(engine: string, ratio: Spread | null, y: number, x: (ratio: number) => number): string {
  if (!ratio) return `<text class="note" x="${px(x(0) + 6)}" y="${y + barHeight - 2}">failed</text>`
  const { q1, median, q3 } = ratio
  const middle = y + barHeight / 2
  const text = median >= 0.1 ? median.toFixed(2) : median.toPrecision(2)
  return (
    `<rect class="${engine}" x="${px(x(0))}" y="${y}" width="${px(Math.max(1, x(median) - x(0)))}" height="${barHeight}"/>` +
    `<line class="spread" x1="${px(x(q1))}" x2="${px(x(q3))}" y1="${middle}" y2="${middle}"/>` +
    `<text class="note" x="${px(x(q3) + 6)}" y="${y + barHeight - 2}">${text}</text>`
  )
}
