import { useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { Reading } from '../../parts/loading.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import type { Staff } from '../../people.ts'
import { useResource } from '../../resource.ts'
import { ask } from '../../session.ts'
import { ActionDialog } from '../action-dialog.tsx'
import type { Operation, UndoPlan } from '../roster-replies.ts'
import { useConsole } from '../text/console-words.ts'
import { ChangeList } from './changes.tsx'
import { Holds } from './holds.tsx'
import { ToRoster } from './plan.tsx'

const shownAtFirst = 20
const order = ['leaving', 'returning', 'changed'] as const satisfies Operation[]

const read = (path: string) => ask<UndoPlan>(path)

/** Previews and runs an undo. */
export function UndoPage({ to, user }: { to: string; user: Staff }) {
  const { text: all, number } = useConsole()
  const text = all.roster
  const plan = useResource(`/staff/roster/undo?to=${encodeURIComponent(to)}`, read)
  const [asking, setAsking] = useState(false)
  const [done, setDone] = useState(false)
  const [reminded, setReminded] = useState(false)
  const [allowed, setAllowed] = useState<readonly string[]>([])
  const { data, problem } = plan
  const unanswered = data?.holds.some(({ code }) => !allowed.includes(code)) ?? false
  if (!data && problem?.code === 'invalid-request')
    return (
      <Page title={text.noWayBack} lead={text.noWayBackLead} narrow>
        <ToRoster />
      </Page>
    )
  const title = data?.to === 0 ? text.undoToNothing : text.undoTitle(number(Number(to)))
  return (
    <Page title={title}>
      <ToRoster />
      {!done && <Reading of={plan} />}
      <div role="status">
        {done && (
          <Notice tone="good">
            <p>{text.undone}</p>
          </Notice>
        )}
      </div>
      {data && !done && (
        <>
          <p>{text.undoes(data.undone.length, data.undone.map(number).join(', '))}</p>
          <p>
            {text.undoStudents(
              number(data.counts.leaving),
              number(data.counts.returning),
              number(data.counts.changed),
            )}
          </p>
          {data.holds.length > 0 && (
            <Holds
              of={data.holds}
              lead={text.undoHoldsLead}
              asks
              allowed={allowed}
              onAllowed={setAllowed}
              onReadAs={undefined}
            />
          )}
          <div className="actions decision">
            <Button look="danger" onPress={() => (unanswered ? setReminded(true) : setAsking(true))}>
              {text.undo}
            </Button>
          </div>
          <p role="alert" className={reminded && unanswered ? 'field-error' : 'said'}>
            {reminded && unanswered ? text.applyFirst : ''}
          </p>
          {order.map((operation) => (
            <Students key={operation} of={data} operation={operation} />
          ))}
        </>
      )}
      {asking && data && (
        <ActionDialog
          user={user}
          title={title}
          effects={text.undoEffects}
          undo={text.undoUndo}
          submit={text.undoSubmit}
          danger
          work={() =>
            ask('/staff/roster/undo', {
              method: 'POST',
              body: { to: Number(to), from: data.from, allow: allowed },
            })
          }
          explain={({ code }) => (code === 'roster-moved-on' ? text.undoMovedOn : null)}
          onDone={() => {
            setAsking(false)
            setDone(true)
          }}
          onCancel={() => setAsking(false)}
        />
      )}
    </Page>
  )
}

function Students({ of, operation }: { of: UndoPlan; operation: (typeof order)[number] }) {
  const { text: all, number } = useConsole()
  const text = all.roster
  const [shown, setShown] = useState(shownAtFirst)
  const some = of.changes.filter((change) => change.operation === operation)
  if (some.length === 0) return null
  return (
    <section aria-labelledby={operation}>
      <h2 id={operation}>{`${text.groups[operation]} (${number(of.counts[operation])})`}</h2>
      <ChangeList of={some.slice(0, shown)} />
      {shown < some.length && <Button onPress={() => setShown(shown + 5 * shownAtFirst)}>{all.more}</Button>}
    </section>
  )
}
