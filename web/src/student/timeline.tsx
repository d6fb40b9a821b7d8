import { useWords } from '../text/text.ts'
import { dateOf, type Placed, spanText } from './classes.ts'

const dayMs = 86_400_000
const rowRem = 3.25
const headRem = 3.25

interface Bar {
  readonly placed: Placed
  readonly start: string
  readonly end: string
}

/**
 * The year as a picture: terms as bands, rotations (or, for who has none, classes) as bars, one a row, each a link. Lengths along
 * are in per cent, so that the picture is as wide as the page; heights in rem, so that it grows with the letters.
 */
export function Timeline({ classes }: { classes: readonly Placed[] }) {
  const { text, dates } = useWords()
  const rotations = classes.filter(({ entry }) => entry.kind === 'rotation')
  const bars = (rotations.length > 0 ? rotations : classes).flatMap((placed): Bar[] =>
    placed.start !== null && placed.end !== null ? [{ placed, start: placed.start, end: placed.end }] : [],
  )
  if (bars.length === 0) return null
  const terms = termsOf(classes)
  const from = [...terms.map((term) => term.startDate), ...bars.map((bar) => bar.start)].sort()[0]!
  const to = [...terms.map((term) => term.endDate), ...bars.map((bar) => bar.end)].sort().at(-1)!
  const first = at(from)
  const whole = at(to) + dayMs - first
  const percent = (date: string, wholeDay = false) =>
    ((at(date) + (wholeDay ? dayMs : 0) - first) / whole) * 100
  const today = dateOf(new Date())
  const height = headRem + bars.length * rowRem + 0.5
  const label = text.student.timelineLabel(dates.day(from), dates.day(to), bars.length)

  return (
    <section className="timeline" aria-labelledby="timeline">
      <h2 id="timeline">{text.student.timeline}</h2>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset cannot stand in a picture */}
      <svg role="group" aria-label={label} width="100%" height={`${height}rem`}>
        <g aria-hidden="true">
          {terms.map((term, index) => (
            <g key={term.termId} className="term">
              <rect
                className={index % 2 ? 'odd' : 'even'}
                x={`${percent(term.startDate)}%`}
                width={`${percent(term.endDate, true) - percent(term.startDate)}%`}
                height={`${height}rem`}
                rx="0.5rem"
              />
              <text x={`${percent(term.startDate) + 1.5}%`} y="1.3rem">
                {term.title}
              </text>
            </g>
          ))}
          {monthsBetween(from, to).map((month) => (
            <g key={month} className="month">
              <line x1={`${percent(month)}%`} x2={`${percent(month)}%`} y1="1.9rem" y2={`${height}rem`} />
              <text x={`${percent(month)}%`} dx="0.2rem" y="2.7rem">
                <tspan className="long">{dates.month(month)}</tspan>
                <tspan className="short">{dates.monthInitial(month)}</tspan>
              </text>
            </g>
          ))}
        </g>
        {bars.map(({ placed, start, end }, row) => {
          const x = percent(start)
          const width = percent(end, true) - x
          const y = headRem + row * rowRem
          const late = x > 50
          return (
            <a
              key={placed.entry.classId}
              href={`#/classes/${encodeURIComponent(placed.entry.classId)}`}
              className={placed.state}
              aria-label={`${placed.entry.title}, ${spanText(placed, text, dates)}, ${stateWord(placed, text)}`}
            >
              <rect className="row" x="0" width="100%" y={`${y}rem`} height={`${rowRem}rem`} rx="0.5rem" />
              <text x={`${late ? x + width : x}%`} y={`${y + 1.45}rem`} textAnchor={late ? 'end' : 'start'}>
                {placed.entry.title}
              </text>
              <rect
                className="bar"
                x={`${x}%`}
                width={`${width}%`}
                y={`${y + 1.85}rem`}
                height="0.7rem"
                rx="0.35rem"
              />
            </a>
          )
        })}
        {today >= from && today <= to && (
          <g className="today" aria-hidden="true">
            <line x1={`${percent(today)}%`} x2={`${percent(today)}%`} y1="1.9rem" y2={`${height}rem`} />
            <circle cx={`${percent(today)}%`} cy="1.9rem" r="0.3rem" />
          </g>
        )}
      </svg>
    </section>
  )
}

const at = (date: string) => Date.parse(`${date}T00:00:00Z`)

function stateWord({ state }: Placed, text: ReturnType<typeof useWords>['text']): string {
  return { past: text.student.over, now: text.student.now, ahead: text.student.ahead }[state]
}

/** Each term once, in order; those that hold others (a year, beside its semesters) are left out. */
function termsOf(classes: readonly Placed[]) {
  const all = new Map(classes.flatMap(({ entry }) => entry.terms).map((term) => [term.termId, term]))
  const terms = [...all.values()].sort((a, b) => a.startDate.localeCompare(b.startDate))
  return terms.filter(
    (term) =>
      !terms.some(
        (other) => other !== term && other.startDate >= term.startDate && other.endDate <= term.endDate,
      ),
  )
}

/** The first of every month in between. */
function monthsBetween(from: string, to: string): string[] {
  const months: string[] = []
  const date = new Date(`${from.slice(0, 7)}-01T00:00:00Z`)
  for (;;) {
    date.setUTCMonth(date.getUTCMonth() + 1)
    const text = date.toISOString().slice(0, 10)
    if (text > to) return months
    months.push(text)
  }
}
