import { useState } from 'react'
import { looksLikeAddress } from '../draft.ts'
import { AddressField, Field } from '../parts/field.tsx'
import type { Staff } from '../people.ts'
import { ask } from '../session.ts'
import { ActionDialog } from './action-dialog.tsx'
import { fullName } from './person-parts.tsx'
import type { PersonDetail } from './replies.ts'
import { useConsole } from './text/console-words.ts'

type Profile = PersonDetail['profile']

/** The parameter for the reason, and whether it is required. Null: the action takes none. */
const reasons = {
  suspend: { member: 'reason', needed: true },
  reactivate: { member: 'reason', needed: false },
  'sign-out': null,
  verify: { member: 'note', needed: true },
  unverify: { member: 'note', needed: false },
  'leave-unverified': { member: 'note', needed: false },
  'change-address': { member: 'reason', needed: true },
  close: { member: 'reason', needed: true },
} as const

export type ActionName = keyof typeof reasons

/** To the service, leaving somebody unverified is another `unverify`. */
const pathOf = (name: ActionName) => (name === 'leave-unverified' ? 'unverify' : name)

/** The actions available for a person. The service decides in the end. */
export function actionsFor({ role, status, verified, verificationLost }: Profile): ActionName[] {
  if (status === 'closed') return []
  const isVeterinarian = role === 'veterinarian'
  const hasSignedIn = status !== 'pending'
  const actions: [ActionName, boolean][] = [
    ['sign-out', hasSignedIn],
    ['verify', isVeterinarian && hasSignedIn && !verified],
    ['unverify', isVeterinarian && verified],
    ['leave-unverified', verificationLost !== null],
    ['change-address', isVeterinarian && hasSignedIn],
    ['reactivate', status === 'suspended'],
    ['suspend', status === 'active'],
    ['close', isVeterinarian],
  ]
  return actions.flatMap(([name, possible]) => (possible ? [name] : []))
}

export function PersonAction({
  name,
  person,
  user,
  onDone,
  onCancel,
}: {
  name: ActionName
  person: Profile
  user: Staff
  onDone(): void
  onCancel(): void
}) {
  const { text: all } = useConsole()
  const text = all.actions
  const words = text[name]
  const asks = reasons[name]
  const [reason, setReason] = useState('')
  const [email, setEmail] = useState('')
  const [checked, setChecked] = useState(false)
  const reasonMissing = asks?.needed === true && reason.trim() === ''
  const addressWrong = name === 'change-address' && !looksLikeAddress(email)

  return (
    <ActionDialog
      user={user}
      title={<bdi>{words.title(fullName(person) || all.unnamed)}</bdi>}
      effects={words.effects}
      undo={words.undo}
      isFinal={name === 'close'}
      submit={words.submit}
      danger={name === 'suspend' || name === 'close'}
      check={() => {
        setChecked(true)
        return !reasonMissing && !addressWrong
      }}
      work={() =>
        ask(`/staff/people/${encodeURIComponent(person.userId)}/${pathOf(name)}`, {
          method: 'POST',
          body: {
            ...(asks && reason.trim() !== '' && { [asks.member]: reason.trim() }),
            ...(name === 'change-address' && { email: email.trim() }),
            // If the name changes in the meantime, it is not the person who was checked.
            ...(name === 'verify' && { updatedAt: person.updatedAt }),
          },
        })
      }
      explain={({ code, fields }) => {
        if (code === 'conflict')
          return name === 'change-address' ? text['change-address'].taken : text.refused
        return fields.includes('email') ? text['change-address'].wrong : null
      }}
      onDone={onDone}
      onCancel={onCancel}
    >
      {name === 'change-address' && (
        <AddressField
          label={text['change-address'].label}
          value={email}
          onText={setEmail}
          error={checked && addressWrong ? text['change-address'].wrong : null}
        />
      )}
      {asks && (
        <Field
          label={name === 'verify' ? text.verify.label : asks.needed ? text.reason : text.optional}
          hint={text.reasonHint}
          maxLength={1000}
          autoComplete="off"
          value={reason}
          onText={setReason}
          error={checked && reasonMissing ? text.reasonMissing : null}
        />
      )}
    </ActionDialog>
  )
}
