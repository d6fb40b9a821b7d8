import { Button } from '../../parts/button.tsx'
import type { Hold, PlanOptions } from '../roster-replies.ts'
import { StateMark } from '../state.tsx'
import { useConsole } from '../text/console-words.ts'

/** Each hold is a question with its own confirmation; some can be resolved by reading the file differently. */
export function Holds({
  of,
  asks,
  lead,
  allowed,
  onAllowed,
  onReadAs,
}: {
  of: readonly Hold[]
  lead: string
  /** False if there is nothing to import unless the file is read differently. */
  asks: boolean
  allowed: readonly string[]
  onAllowed(allowed: readonly string[]): void
  /** Undefined if the file would have to be chosen again. */
  onReadAs: ((options: Partial<PlanOptions>) => void) | undefined
}) {
  const { text: all } = useConsole()
  const text = all.roster
  return (
    <section className="card holds" aria-labelledby="holds">
      <h2 id="holds">
        <StateMark state="warning" word={text.holds} />
      </h2>
      <p>{lead}</p>
      <ul className="plain-list">
        {[...Map.groupBy(of, ({ code }) => code)].map(([code, holds]) => (
          <li key={code}>
            <fieldset className="checks">
              <legend>{text.hold[code] ?? text.otherHold}</legend>
              {holds.map((hold) => (
                <Reason key={hold.reason} of={hold} />
              ))}
              <Otherwise code={code} numbers={holds[0]!.numbers} onReadAs={onReadAs} />
              {asks && (
                <label className="check">
                  <input
                    type="checkbox"
                    checked={allowed.includes(code)}
                    onChange={(event) =>
                      onAllowed(
                        event.currentTarget.checked
                          ? [...allowed, code]
                          : allowed.filter((each) => each !== code),
                      )
                    }
                  />
                  {text.yeses[code] ?? text.yes}
                </label>
              )}
            </fieldset>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Some reasons of these holds are about other things, and have other numbers. */
const needs: Readonly<Record<string, string>> = { identities: 'byNumber', stale: 'generation' }

/** In the reader's language if the numbers suffice; otherwise the service's own words, without its options. */
function Reason({ of: { code, reason, numbers } }: { of: Hold }) {
  const { text: all, number } = useConsole()
  const words = all.roster.reasons[code]
  const shown = Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, number(value)]))
  const needed = needs[code]
  if (words && (needed === undefined || needed in numbers)) return <p>{words(shown)}</p>
  const plain = reason.replaceAll(/ \(--[^)]*\)/g, '')
  return (
    <p lang="en">
      <bdi>{`${plain.charAt(0).toUpperCase()}${plain.slice(1)}.`}</bdi>
    </p>
  )
}

/** Other ways to read the file. Keys that match no account are left out. */
function Otherwise({
  code,
  numbers,
  onReadAs,
}: {
  code: string
  numbers: Hold['numbers']
  onReadAs: ((options: Partial<PlanOptions>) => void) | undefined
}) {
  const { text: all } = useConsole()
  const text = all.roster
  const ways: (readonly [string, Partial<PlanOptions>])[] = []
  if (code === 'mode') ways.push([text.readAs.bulk, { mode: 'bulk' }], [text.readAs.delta, { mode: 'delta' }])
  if (code === 'identities') {
    if (numbers.byNumber !== 0) ways.push([text.readAs.number, { match: 'number' }])
    if (numbers.byAddress !== 0) ways.push([text.readAs.address, { match: 'address' }])
  }
  if (ways.length === 0) return null
  if (!onReadAs) return <p className="soft">{text.readAs.chooseAgain}</p>
  return (
    <div className="actions">
      {ways.map(([words, options]) => (
        <Button key={words} onPress={() => onReadAs(options)}>
          {words}
        </Button>
      ))}
    </div>
  )
}
