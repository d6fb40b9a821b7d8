import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import type { Role } from '../people.ts'
import { ask } from '../session.ts'
import { useWords } from '../text/text.ts'
import { StepUp } from './step-up.tsx'

/** Removes one of the reader's ways to sign in, after a new proof if the last one is too old. */
export function Removal({
  path,
  title,
  lead,
  action,
  as: role,
  email,
  onDone,
  onCancel,
}: {
  path: string
  title: string
  lead: string
  action: string
  as: Role
  email: string
  onDone(): void
  onCancel(): void
}) {
  const { text } = useWords()
  const removing = useAction(async () => {
    await ask(path, { method: 'DELETE' })
    onDone()
  })
  const stale = removing.problem?.code === 'recent-sign-in-required' ? removing.problem : null
  return (
    <Dialog title={title} onCancel={onCancel}>
      {stale ? (
        <StepUp
          as={role}
          email={email}
          problem={stale}
          why={text.passkeys.fresh}
          action={text.passkeys.goOn}
          onDone={removing.run}
          onCancel={onCancel}
        />
      ) : (
        <>
          <p>{lead}</p>
          {removing.problem && <ProblemNotice problem={removing.problem} />}
          <div className="actions">
            <Button onPress={onCancel}>{text.cancel}</Button>
            <Button look="danger" busy={removing.busy} onPress={removing.run}>
              {action}
            </Button>
          </div>
        </>
      )}
    </Dialog>
  )
}
