import { type FormEvent, useId, useState } from 'react'
import { Button } from '../../parts/button.tsx'
import type { ListField, ListTable, Plan, PlanOptions } from '../roster-replies.ts'
import { useConsole } from '../text/console-words.ts'

/** Whether a list or export can be read differently. Of an export, only the dates are open. */
export function canBeCorrected({ list, findings, options }: Plan): boolean {
  if (list?.kind === 'class list') return true
  const asks = findings.some(({ code }) => code === 'missing-term' || code === 'bad-date')
  return list !== null && (asks || options.term.length > 0)
}

/** How the columns of a class list were understood, with the first rows; each can be corrected. */
export function ClassList({
  plan,
  onReadAs,
}: {
  plan: Plan
  /** Undefined if the file would have to be chosen again. */
  onReadAs: ((options: Partial<PlanOptions>) => void) | undefined
}) {
  const { text: all } = useConsole()
  const text = all.roster.list
  const { list } = plan
  if (list === null || !canBeCorrected(plan)) return null
  if (list.kind !== 'class list')
    return (
      <section className="card">
        {onReadAs ? (
          <Correct plan={plan} table={null} onReadAs={onReadAs} />
        ) : (
          <p className="soft">{all.roster.readAs.chooseAgain}</p>
        )}
      </section>
    )
  const isRefused = plan.state === 'refused'
  return (
    <section aria-labelledby="columns">
      <h2 id="columns">{text.title}</h2>
      <p>{text.lead}</p>
      {list.tables.map((table) => (
        <Columns key={`${table.file} ${table.sheet}`} of={table} />
      ))}
      {onReadAs ? (
        <details className="group" open={isRefused}>
          <summary>
            <h3>{text.correct}</h3>
          </summary>
          <Correct plan={plan} table={list.tables[0]} onReadAs={onReadAs} />
        </details>
      ) : (
        <p className="soft">{text.chooseAgain}</p>
      )}
    </section>
  )
}

function Columns({ of: { file, sheet, mapping, unused } }: { of: ListTable }) {
  const { text: all } = useConsole()
  const text = all.roster.list
  const samples = mapping[0]?.samples ?? []
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled by keyboard */}
      <section className="scrolls" tabIndex={0} aria-label={[file, sheet].filter(Boolean).join(', ')}>
        <table className="texts">
          <thead>
            <tr>
              <th scope="col">{text.meaning}</th>
              <th scope="col">{text.column}</th>
              {samples.map((_, at) => (
                <th key={at} scope="col">
                  {text.row(String(at + 1))}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {mapping.map(({ field, header, samples: cells }) => (
              <tr key={field}>
                <th scope="row">{text.fields[field]}</th>
                <td>
                  <bdi>{header}</bdi>
                </td>
                {cells.map((cell, at) => (
                  <td key={at}>
                    <bdi>{cell}</bdi>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {unused.length > 0 && (
        <p className="soft">
          {text.unused} <bdi>{unused.join(', ')}</bdi>
        </p>
      )}
    </>
  )
}

const orders = ['day-first', 'month-first'] as const

function Correct({
  plan: { options },
  table,
  onReadAs,
}: {
  plan: Plan
  /** Undefined: no header was found, so headers are typed. Null: there are no columns to map. */
  table: ListTable | undefined | null
  onReadAs(options: Partial<PlanOptions>): void
}) {
  const { text: all } = useConsole()
  const text = all.roster.list
  const id = useId()
  const recognised = new Map(table?.mapping.map(({ field, header }) => [field, header]))
  const said = new Map(options.map.map((each) => each.split(/=(.*)/s, 2) as [ListField, string]))
  const [chosen, setChosen] = useState<ReadonlyMap<ListField, string>>(said)
  const [terms, setTerms] = useState(options.term.join('\n'))
  const [dates, setDates] = useState<PlanOptions['dates']>(options.dates)
  const headers = table && [...new Set([...recognised.values(), ...table.unused])]

  function submit(event: FormEvent) {
    event.preventDefault()
    const map = [...chosen].flatMap(([field, header]) => (header === '' ? [] : [`${field}=${header}`]))
    onReadAs({ map, term: terms.split('\n').map((each) => each.trim()), dates })
  }

  const choose = (field: ListField, header: string) => setChosen(new Map([...chosen, [field, header]]))
  return (
    <form onSubmit={submit}>
      {table !== null && (
        <div className="columns">
          {(Object.keys(text.fields) as ListField[]).map((field) => {
            const value = chosen.get(field) ?? recognised.get(field) ?? ''
            return (
              <div key={field} className="field">
                <label htmlFor={`${id}-${field}`}>{text.fields[field]}</label>
                {headers ? (
                  <select
                    id={`${id}-${field}`}
                    value={value}
                    onChange={(event) => choose(field, event.currentTarget.value)}
                  >
                    {(value === '' || !recognised.has(field)) && <option value="">{text.none}</option>}
                    {headers.map((header) => (
                      <option key={header}>{header}</option>
                    ))}
                  </select>
                ) : (
                  <input
                    id={`${id}-${field}`}
                    value={value}
                    autoComplete="off"
                    onChange={(event) => choose(field, event.currentTarget.value)}
                  />
                )}
              </div>
            )
          })}
        </div>
      )}
      <div className="field">
        <label htmlFor={`${id}-terms`}>{text.terms}</label>
        <p className="hint" id={`${id}-terms-hint`}>
          {text.termsHint}
        </p>
        <textarea
          id={`${id}-terms`}
          aria-describedby={`${id}-terms-hint`}
          rows={3}
          value={terms}
          onChange={(event) => setTerms(event.currentTarget.value)}
        />
      </div>
      <div className="field">
        <label htmlFor={`${id}-dates`}>{text.dates}</label>
        <select
          id={`${id}-dates`}
          value={dates ?? ''}
          onChange={(event) => setDates(orders.find((each) => each === event.currentTarget.value) ?? null)}
        >
          <option value="">{text.datesGuessed}</option>
          {orders.map((order) => (
            <option key={order} value={order}>
              {text.orders[order]}
            </option>
          ))}
        </select>
      </div>
      <Button submits>{text.again}</Button>
    </form>
  )
}
