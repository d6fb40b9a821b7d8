import { useState } from 'react'
import { askForCode, showCode } from '../code/challenge.ts'
import { draft, looksLikeAddress } from '../draft.ts'
import { send } from '../http.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { AddressField, Field } from '../parts/field.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { useWords } from '../text/text.ts'
import { SharedChoice } from './shared-choice.tsx'

const names = ['firstname', 'lastname', 'email'] as const
type Name = (typeof names)[number]

export function Register() {
  const { text } = useWords()
  const [form, setForm] = useState({
    firstname: draft.firstname,
    lastname: draft.lastname,
    email: draft.email,
  })
  const [wrong, setWrong] = useState<readonly Name[]>([])
  const registering = useAction(async () => {
    const email = form.email.trim()
    await send('/veterinarian/register', { method: 'POST', body: { ...form, email } })
    showCode({ challenge: await askForCode('veterinarian', email), next: '#/', registered: true })
  })
  const refused = [...wrong, ...(registering.problem?.fields ?? [])]
  const change = (name: Name) => (typed: string) => {
    draft[name] = typed
    setForm({ ...form, [name]: typed })
    setWrong(wrong.filter((each) => each !== name))
    if (registering.problem?.fields.length) registering.forget()
  }

  return (
    <Page title={text.register.title} lead={text.register.lead} narrow>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          const found = names.filter((name) =>
            name === 'email' ? !looksLikeAddress(form.email) : form[name].trim() === '',
          )
          setWrong(found)
          if (found.length === 0) registering.run()
          else event.currentTarget.querySelector<HTMLInputElement>(`[name=${found[0]}]`)?.focus()
        }}
      >
        {(['firstname', 'lastname'] as const).map((name) => (
          <Field
            key={name}
            label={text.fields[name]}
            name={name}
            autoComplete={name === 'firstname' ? 'given-name' : 'family-name'}
            maxLength={200}
            required
            value={form[name]}
            onText={change(name)}
            error={refused.includes(name) ? text.fields.wrongName : null}
          />
        ))}
        <AddressField
          label={text.fields.email}
          name="email"
          autoComplete="email"
          required
          value={form.email}
          onText={change('email')}
          error={refused.includes('email') ? text.fields.wrongEmail : null}
        />
        <SharedChoice />
        {registering.problem && registering.problem.fields.length === 0 && (
          <ProblemNotice problem={registering.problem} onRetry={registering.run} />
        )}
        <div className="actions">
          <Button look="main" submits busy={registering.busy} waits={registering.waits}>
            {text.register.submit}
          </Button>
        </div>
        <p className="small soft">{text.register.note}</p>
      </form>
      <p className="aside">
        {text.register.already} <a href="#/">{text.register.signIn}</a>
      </p>
    </Page>
  )
}
