import { useState } from 'react'
import type { Staff } from '../people.ts'
import { ask } from '../session.ts'
import { ActionDialog } from './action-dialog.tsx'
import { fullName } from './person-parts.tsx'
import type { PersonSummary } from './replies.ts'
import { useConsole } from './text/console-words.ts'

/** Signs several people out, one after the other. Those who could not be signed out stay chosen. */
export function BulkSignOut({
  of,
  user,
  onDone,
  onCancel,
}: {
  of: readonly PersonSummary[]
  user: Staff
  onDone(left: readonly PersonSummary[], result: { tone: 'good' | 'bad'; text: string }): void
  onCancel(): void
}) {
  const { text: all, number } = useConsole()
  const text = all.people.signOut
  const [done, setDone] = useState<number | null>(null)

  async function work() {
    const failed: PersonSummary[] = []
    for (const [i, person] of of.entries()) {
      setDone(i)
      try {
        const path = `/staff/people/${encodeURIComponent(person.userId)}/sign-out`
        await ask(path, { method: 'POST', body: {} })
      } catch (error) {
        // If nobody can be signed out, the dialogue says why.
        if (of.length - failed.length === 1 && i === failed.length) {
          setDone(null)
          throw error
        }
        failed.push(person)
      }
    }
    setDone(of.length)
    return failed
  }

  return (
    <ActionDialog
      user={user}
      title={text.title(of.length, number(of.length))}
      effects={all.actions['sign-out'].effects}
      undo={all.actions['sign-out'].undo}
      submit={all.actions['sign-out'].submit}
      work={async () => {
        const failed = await work()
        const count = of.length - failed.length
        const names = failed.map((person) => fullName(person) || all.unnamed).join(', ')
        onDone(
          failed,
          failed.length === 0
            ? { tone: 'good', text: text.done(count, number(count)) }
            : { tone: 'bad', text: `${text.done(count, number(count))} ${text.failed(names)}` },
        )
      }}
      onDone={() => {}}
      onCancel={onCancel}
    >
      {done !== null && (
        <p>
          <progress
            max={of.length}
            value={done}
            aria-label={text.progress(number(done), number(of.length))}
          />
          <span role="status">{text.progress(number(done), number(of.length))}</span>
        </p>
      )}
    </ActionDialog>
  )
}
