import { useWords } from '../text/text.ts'
import { classLink, type Placed, stateWord } from './classes.ts'

const dayMs = 86_400_000

interface Span {
  readonly startDate: string
  readonly endDate: string
}

interface Bar extends Span {
  readonly placed: Placed
}

/** Whether a class is a bar in the picture. */
export const isBar = ({ entry, start, end }: Placed): boolean =>
  entry.kind === 'rotation' && start !== null && end !== null

/**
 * The terms as a picture, with rotations as bars. Boxes are placed in per cent, so
 * names wrap, text can be enlarged and right-to-left languages work. Each bar is a link whose text says what the
 * picture shows.
 */
export function Timeline({ classes, today }: { classes: readonly Placed[]; today: string }) {
  const { text, dates } = useWords()
  const bars = classes
    .filter(isBar)
    .map((placed): Bar => ({ placed, startDate: placed.start!, endDate: placed.end! }))
  if (bars.length === 0) return null
  const terms = termsOf(classes).filter((term) =>
    [...bars, { startDate: today, endDate: today }].some(meets(term)),
  )
  const spans = [...terms, ...bars]
  const from = spans.map(({ startDate }) => startDate).sort()[0]!
  const to = spans
    .map(({ endDate }) => endDate)
    .sort()
    .at(-1)!
  const first = at(from)
  const whole = at(to) + dayMs - first
  const percent = (ms: number) => `${((100 * ms) / whole).toFixed(3)}%`
  const along = ({ startDate, endDate }: Span) => ({
    insetInlineStart: percent(at(startDate) - first),
    inlineSize: percent(at(endDate) + dayMs - at(startDate)),
  })
  const isOn = today >= from && today <= to
  const noon = percent(at(today) + dayMs / 2 - first)

  return (
    <section className="timeline" aria-labelledby="timeline">
      <h2 id="timeline">{text.student.timeline}</h2>
      <div className="picture card">
        <div className="scale" aria-hidden="true">
          {terms.map((term) => (
            <div key={term.termId} className="term" style={along(term)}>
              {term.title}
            </div>
          ))}
          {monthsBetween(from, to).map((month) => (
            <div key={month} className="month" style={{ insetInlineStart: percent(at(month) - first) }}>
              <span className="long">{dates.month(month)}</span>
              <span className="short">{dates.monthInitial(month)}</span>
            </div>
          ))}
          {isOn && <div className="today" style={{ insetInlineStart: noon }} />}
        </div>
        <ol aria-label={text.student.timelineLabel(dates.day(from), dates.day(to))}>
          {bars.map((bar) => (
            <li key={bar.placed.entry.classId} className={bar.placed.state}>
              <a href={classLink(bar.placed.entry)}>
                <span className="name">{bar.placed.entry.title}</span>
                <span className="when">
                  {dates.shortSpan(bar.startDate, bar.endDate)}
                  <span className="visually-hidden">, {stateWord(bar.placed, text)}</span>
                </span>
                <span className="track">
                  <span className="length" style={along(bar)} />
                  {isOn && <span className="today" style={{ insetInlineStart: noon }} />}
                </span>
              </a>
            </li>
          ))}
        </ol>
        {isOn && (
          <p className="legend small soft" aria-hidden="true">
            {text.student.today}
          </p>
        )}
      </div>
    </section>
  )
}

const at = (date: string) => Date.parse(`${date}T00:00:00Z`)

const meets = (a: Span) => (b: Span) => a.startDate <= b.endDate && b.startDate <= a.endDate

/** Each term once, in order. Terms that contain others, such as a year with its semesters, are left out. */
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

/** The first of every month, except one so late that its name would not fit. */
function monthsBetween(from: string, to: string): string[] {
  const last = new Date(at(to) - 7 * dayMs).toISOString().slice(0, 10)
  const months: string[] = []
  const date = new Date(`${from.slice(0, 7)}-01T00:00:00Z`)
  for (;;) {
    date.setUTCMonth(date.getUTCMonth() + 1)
    const text = date.toISOString().slice(0, 10)
    if (text > last) return months
    months.push(text)
  }
}
