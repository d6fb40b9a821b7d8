/** The ratios to the bare server as an SVG that is legible on light and on dark pages. */
import type { Figure, Results } from './results.ts'
import { engines } from './stores.ts'

const width = 820
const labelWidth = 250
const right = 60
const barHeight = 13
const rowHeight = 38
const top = 84
const step = 0.1

const style = `
  .page { fill: #fff } text { fill: #22302c; font: 13px system-ui, sans-serif }
  .title { font-size: 17px; font-weight: 600 } .note { fill: #5b6762; font-size: 12px } .line { stroke: #dcd7cc }
  .sqlite { fill: #1d6b5a } .postgres { fill: #c27b2a } .spread { stroke: #22302c }
  @media (prefers-color-scheme: dark) {
    .page { fill: #14201d } text { fill: #e6ece9 } .note { fill: #9db0a9 } .line { stroke: #33443f }
    .sqlite { fill: #58b79f } .postgres { fill: #e3a65c } .spread { stroke: #e6ece9 }
  }`

const escaped = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;')
const px = (value: number) => value.toFixed(1)

export function chart({ figures, accounts, machine, date }: Results): string {
  const shown = figures.filter(
    ({ id, service, workers, accounts: count }) =>
      id !== 'sign-in' && workers === 1 && (service !== 'Chiron' || count === accounts[1]),
  )
  const rows = [...Map.groupBy(shown, labelOf)]
  const steps = Math.ceil((Math.max(step, ...shown.map(({ ratio }) => ratio.q3)) * 1.05) / step)
  const x = (ratio: number) => labelWidth + (ratio / (steps * step)) * (width - labelWidth - right)
  const bottom = top + rows.length * rowHeight
  const height = bottom + 30
  const grid = Array.from({ length: steps + 1 }, (_, i) => i * step).map(
    (at) =>
      `<line class="line" x1="${px(x(at))}" x2="${px(x(at))}" y1="${top}" y2="${bottom}"/>` +
      `<text class="note" x="${px(x(at))}" y="${bottom + 16}" text-anchor="middle">${at.toFixed(1)}</text>`,
  )
  const drawn = rows.map(([label, bars], i) => {
    const at = top + 5 + i * rowHeight
    const name = `<text x="${labelWidth - 12}" y="${at + barHeight + 5}" text-anchor="end">${escaped(label)}</text>`
    return (
      name +
      bars.map((figure) => bar(figure, at + engines.indexOf(figure.engine) * (barHeight + 3), x)).join('')
    )
  })
  const title = 'Processor time of a bare node:http server, divided by the service’s'
  const note = `one request, more is better · ${accounts[1].toLocaleString('en')} accounts · ${machine.cpu}, Node ${machine.node}, ${date}`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<style>${style}
</style>
<rect class="page" width="${width}" height="${height}" rx="8"/>
<text class="title" x="16" y="30">${escaped(title)}</text>
<text class="note" x="16" y="50">${escaped(note)}</text>
<rect class="sqlite" x="16" y="61" width="12" height="12"/><text class="note" x="33" y="71">SQLite</text>
<rect class="postgres" x="90" y="61" width="12" height="12"/><text class="note" x="107" y="71">PostgreSQL</text>
${[...grid, ...drawn].join('\n')}
</svg>
`
}

function labelOf({ service, name }: Figure): string {
  return service === 'Chiron' ? name.split(', limits')[0]! : `${service}: ${name}`
}

function bar({ engine, ratio }: Figure, y: number, x: (ratio: number) => number): string {
  const { q1, median, q3 } = ratio
  const middle = y + barHeight / 2
  return (
    `<rect class="${engine}" x="${px(x(0))}" y="${y}" width="${px(Math.max(1, x(median) - x(0)))}" height="${barHeight}"/>` +
    `<line class="spread" x1="${px(x(q1))}" x2="${px(x(q3))}" y1="${middle}" y2="${middle}"/>` +
    `<text class="note" x="${px(x(q3) + 6)}" y="${y + barHeight - 2}">${median.toFixed(2)}</text>`
  )
}
