import type { FormEvent, ReactNode } from 'react'
import type { Problem } from '../http.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Notice, ProblemNotice } from '../parts/notice.tsx'
import { focusHeading } from '../parts/page.tsx'
import { StepUp } from '../passkeys/step-up.tsx'
import type { Staff } from '../people.ts'
import { useWords } from '../text/text.ts'
import { useConsole } from './text/console-words.ts'

export interface ActionDialogProps {
  user: Staff
  title: ReactNode
  effects?: readonly string[]
  /** How to undo it. */
  undo?: string
  isFinal?: boolean
  submit: string
  danger?: boolean
  /** Fields of the form. */
  children?: ReactNode
  /** Returns false, and shows why, if the form is not filled in. */
  check?: () => boolean
  work(): Promise<void>
  /** The message for a refusal, if the usual one does not say enough. */
  explain?(problem: Problem): string | null
  onDone(): void
  onCancel(): void
}

/**
 * Confirms and runs an action: says what will happen, runs it, and if the sign-in is too old, asks for a new code in
 * place and continues.
 */
export function ActionDialog(props: ActionDialogProps) {
  const { text } = useWords()
  const { text: own } = useConsole()
  const acting = useAction(async () => {
    await props.work()
    props.onDone()
    // The button that opened it may be gone after the change.
    requestAnimationFrame(focusHeading)
  })
  const stale = acting.problem?.code === 'recent-sign-in-required' ? acting.problem : null
  const explained = acting.problem && props.explain?.(acting.problem)

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = event.currentTarget
    if (props.check?.() ?? true) acting.run()
    else requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid]')?.focus())
  }

  return (
    <Dialog title={props.title} onCancel={props.onCancel}>
      {stale ? (
        <StepUp
          as="staff"
          email={props.user.email}
          problem={stale}
          why={own.actions.recent}
          action={own.actions.confirmAndGoOn}
          onDone={acting.run}
          onCancel={props.onCancel}
        />
      ) : (
        <form noValidate onSubmit={submit}>
          {props.effects && (
            <div>
              <p>{own.actions.whatHappens}</p>
              <ul>
                {props.effects.map((effect) => (
                  <li key={effect}>{effect}</li>
                ))}
              </ul>
              {props.undo && <p className="soft">{props.undo}</p>}
              {props.isFinal && <p className="final">{own.actions.final}</p>}
            </div>
          )}
          {props.children}
          {explained ? (
            <Notice tone="bad">
              <p role="alert">{explained}</p>
            </Notice>
          ) : (
            acting.problem && <ProblemNotice problem={acting.problem} />
          )}
          <div className="actions">
            <Button onPress={props.onCancel}>{text.cancel}</Button>
            <Button look={props.danger ? 'danger' : 'main'} submits busy={acting.busy} waits={acting.waits}>
              {props.submit}
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  )
}
