/** A chart of the ratios, as an SVG that is legible on light and on dark pages. */
import type { Results } from './measure.ts'
import { engines } from './stores.ts'
import { targets } from './targets.ts'

const width = 860
const labelWidth = 250
const barHeight = 13
const rowHeight = 44
const top = 84
const right = 60

const shown: readonly [id: string, label: string][] = [
  ['me', 'GET /veterinarian/me'],
  ['student', 'GET /student/me'],
  ['profile', 'GET /veterinarian/{userId}'],
  ['not-modified', '… 304'],
  ['classes', 'GET /student/me/classes'],
  ['me-limited', 'GET /veterinarian/me, limits on'],
  ['refresh', 'POST /session/refresh'],
  ['register', 'POST /veterinarian/register'],
  ['sign-in', 'whole sign-in'],
  ['sign-in-limited', 'whole sign-in, limits on'],
  ['peer-session', 'Better Auth: get-session'],
  ['peer-sign-in', 'Better Auth: whole sign-in'],
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

export function chart(results: Results): string {
  const rows = shown.map(([id, label]) => ({
    label,
    bars: engines.map((engine) => ({
      engine,
      ratio: results.rows.find((row) => row.id === `${engine}/${id}`)?.ratio ?? null,
    })),
    target: targets(results).find(
      (target) => target.unit === 'of bare' && target.name === nameOf(id, results),
    ),
  }))
  const most = Math.max(0.8, ...rows.flatMap(({ bars }) => bars.map(({ ratio }) => ratio?.q3 ?? 0)))
  const end = Math.ceil(most * 10) / 10
  const x = (ratio: number) => labelWidth + (ratio / end) * (width - labelWidth - right)
  const height = top + rows.length * rowHeight + 34
  const grid = Array.from({ length: Math.round(end * 10) + 1 }, (_, i) => i / 10)
  const bottom = height - 30
  const parts = [
    `<rect class="page" width="${width}" height="${height}" rx="8"/>`,
    '<text class="title" x="16" y="30">Requests a second, as a share of a bare node:http server</text>',
    `<text class="note" x="16" y="50">${escaped(subtitle(results))}</text>`,
    `<rect class="sqlite" x="16" y="61" width="12" height="12"/><text class="note" x="33" y="71">SQLite</text>`,
    `<rect class="postgres" x="90" y="61" width="12" height="12"/><text class="note" x="107" y="71">PostgreSQL</text>`,
    '<line class="target" x1="194" x2="194" y1="60" y2="74"/><text class="note" x="201" y="71">target</text>',
    ...grid.map(
      (at) =>
        `<line class="line" x1="${px(x(at))}" x2="${px(x(at))}" y1="${top}" y2="${bottom}"/>` +
        `<text class="note" x="${px(x(at))}" y="${height - 12}" text-anchor="middle">${at.toFixed(1)}</text>`,
    ),
    ...rows.map(({ label, bars, target }, i) => {
      const y = top + 6 + i * rowHeight
      const mark = target
        ? `<line class="target" x1="${px(x(target.wanted))}" x2="${px(x(target.wanted))}" y1="${y - 2}" y2="${y + 2 * barHeight + 5}"/>`
        : ''
      const name = `<text x="${labelWidth - 12}" y="${y + barHeight + 5}" text-anchor="end">${escaped(label)}</text>`
      return name + bars.map((bar, b) => barAt(bar, y + b * (barHeight + 3), x)).join('') + mark
    }),
  ]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="Requests a second as a share of a bare node:http server">
<style>${style}
</style>
${parts.join('\n')}
</svg>
`
}

const px = (value: number) => value.toFixed(1)

function nameOf(id: string, results: Results): string | undefined {
  return results.rows.find((row) => row.id === `sqlite/${id}`)?.name
}

function barAt(
  { engine, ratio }: { engine: string; ratio: Results['rows'][number]['ratio'] },
  y: number,
  x: (ratio: number) => number,
): string {
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

function subtitle({ machine, sizes, date, rows: [bare] }: Results): string {
  const rate = Math.round(bare?.perSecond?.median ?? 0).toLocaleString('en')
  const accounts = sizes.accounts.at(-1)!.toLocaleString('en')
  return `${accounts} accounts, one process on one core, bare = ${rate}/s · ${machine.cpu}, Node ${machine.node}, ${date}`
}
