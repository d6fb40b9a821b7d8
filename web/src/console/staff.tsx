import { useState } from 'react'
import { looksLikeAddress } from '../draft.ts'
import { Button } from '../parts/button.tsx'
import { AddressField, Field } from '../parts/field.tsx'
import { Reading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import { type Right, rights, type Staff } from '../people.ts'
import { useResource } from '../resource.ts'
import { ask } from '../session.ts'
import { useWords } from '../text/text.ts'
import { ActionDialog } from './action-dialog.tsx'
import { Checks } from './checks.tsx'
import { linksOn } from './navigation.ts'
import { fullName } from './person-parts.tsx'
import type { Member } from './replies.ts'
import { useConsole } from './text/console-words.ts'

const read = (path: string) => ask<{ members: Member[] }>(path).then(({ members }) => members)
const pathOf = ({ userId }: Member) => `/staff/members/${encodeURIComponent(userId)}`

type Doing = { readonly what: 'add' } | { readonly what: 'change' | 'remove'; readonly member: Member }

export function StaffPage({ user }: { user: Staff }) {
  const { text: all } = useConsole()
  const text = all.staff
  const members = useResource('/staff/members', read)
  const [doing, setDoing] = useState<Doing | null>(null)
  const [said, setSaid] = useState('')
  const props = {
    user,
    onCancel: () => setDoing(null),
    onDone: (words: string) => {
      setDoing(null)
      setSaid(words)
      members.reload()
    },
  }
  return (
    <Page title={text.title} lead={text.lead}>
      <ul>
        {linksOn('staff').map((place) => (
          <li key={place}>
            <a href={`#/${place}`}>{all.nav[place]}</a>
          </li>
        ))}
      </ul>
      <Reading of={members} />
      <p role="status" className={said ? 'notice good' : 'said'}>
        <bdi>{said}</bdi>
      </p>
      {members.data && (
        <p>
          <Button look="main" onPress={() => setDoing({ what: 'add' })}>
            {text.add}
          </Button>
        </p>
      )}
      <ul className="cards devices">
        {members.data?.map((member) => (
          <MemberCard
            key={member.userId}
            member={member}
            isSelf={member.userId === user.userId}
            onAction={(what) => setDoing({ what, member })}
          />
        ))}
      </ul>
      {doing?.what === 'add' && <EditMember member={null} {...props} />}
      {doing?.what === 'change' && <EditMember member={doing.member} {...props} />}
      {doing?.what === 'remove' && <RemoveMember member={doing.member} {...props} />}
    </Page>
  )
}

function MemberCard({
  member,
  isSelf,
  onAction,
}: {
  member: Member
  isSelf: boolean
  onAction(what: 'change' | 'remove'): void
}) {
  const { dates } = useWords()
  const { text: all } = useConsole()
  const text = all.staff
  const name = fullName(member)
  return (
    <li className="card">
      <div>
        <h2>
          <bdi>{name}</bdi>
          {isSelf && <em> ({all.you})</em>}
        </h2>
        <p>
          <bdi dir="ltr">{member.email}</bdi>{' '}
          <span className="soft">{text.since(dates.dayOf(member.createdAt))}</span>
        </p>
        <p className="tags">
          {member.may.map((right) => (
            <span key={right} className="badge">
              {all.rights[right]}
            </span>
          ))}
        </p>
      </div>
      <div className="actions">
        <Button label={`${text.change} ${name}`} onPress={() => onAction('change')}>
          {text.change}
        </Button>
        <Button look="danger" label={`${text.remove} ${name}`} onPress={() => onAction('remove')}>
          {text.remove}
        </Button>
      </div>
    </li>
  )
}

interface Props {
  user: Staff
  onDone(said: string): void
  onCancel(): void
}

/** Adds somebody if there is no member. */
function EditMember({ member, user, onDone, onCancel }: Props & { member: Member | null }) {
  const { text: shared } = useWords()
  const { text: all } = useConsole()
  const text = all.staff
  const [form, setForm] = useState({
    email: member?.email ?? '',
    firstname: member?.firstname ?? '',
    lastname: member?.lastname ?? '',
  })
  const [may, setMay] = useState<readonly Right[]>(member?.may ?? [])
  const [checked, setChecked] = useState(false)
  const wrong = {
    email: !looksLikeAddress(form.email),
    firstname: form.firstname.trim() === '',
    lastname: form.lastname.trim() === '',
    may: may.length === 0,
  }
  const name = `${form.firstname.trim()} ${form.lastname.trim()}`
  return (
    <ActionDialog
      user={user}
      title={member ? <bdi>{text.changeTitle(fullName(member))}</bdi> : text.addTitle}
      submit={member ? text.changeSubmit : text.addSubmit}
      check={() => {
        setChecked(true)
        return !Object.values(wrong).includes(true)
      }}
      work={async () => {
        const { firstname, lastname } = form
        if (member) await ask(pathOf(member), { method: 'PATCH', body: { firstname, lastname, may } })
        else {
          const body = { ...form, email: form.email.trim(), may }
          await ask('/staff/members', { method: 'POST', body })
        }
      }}
      explain={({ code, fields }) => {
        if (code === 'conflict') return member ? text.lastAdmin : text.alreadyStaff
        if (fields.includes('email')) return shared.fields.wrongEmail
        return fields.some((field) => field.endsWith('name')) ? shared.fields.wrongName : null
      }}
      onDone={() => onDone(member ? text.changed(name) : text.added(name))}
      onCancel={onCancel}
    >
      {!member && (
        <AddressField
          label={shared.fields.email}
          value={form.email}
          onText={(email) => setForm({ ...form, email })}
          error={checked && wrong.email ? shared.fields.wrongEmail : null}
        />
      )}
      {(['firstname', 'lastname'] as const).map((field) => (
        <Field
          key={field}
          label={shared.fields[field]}
          autoComplete="off"
          maxLength={200}
          value={form[field]}
          onText={(typed) => setForm({ ...form, [field]: typed })}
          error={checked && wrong[field] ? shared.fields.wrongName : null}
        />
      ))}
      <Checks
        legend={text.may}
        options={rights.map((right) => ({
          value: right,
          label: all.rights[right],
          hint: all.rightsMean[right],
        }))}
        chosen={may}
        onChosen={(chosen) => setMay(rights.filter((right) => chosen.includes(right)))}
        error={checked && wrong.may ? text.noRight : null}
      />
    </ActionDialog>
  )
}

function RemoveMember({ member, user, onDone, onCancel }: Props & { member: Member }) {
  const { text: all } = useConsole()
  const text = all.staff
  const name = fullName(member)
  const isSelf = member.userId === user.userId
  return (
    <ActionDialog
      user={user}
      title={<bdi>{text.removeTitle(name)}</bdi>}
      effects={isSelf ? [...text.removeEffects, text.removeSelf] : text.removeEffects}
      undo={text.removeUndo}
      submit={text.removeSubmit}
      danger
      work={() => ask(pathOf(member), { method: 'DELETE' })}
      explain={({ code }) => (code === 'conflict' ? text.lastAdmin : null)}
      onDone={() => onDone(text.removed(name))}
      onCancel={onCancel}
    />
  )
}
