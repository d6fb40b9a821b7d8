import { type ReactNode, useId, useRef, useState } from 'react'
import { type ClientKind, hasSecret, scopesOf } from '../../../../src/identity/clients/kinds.ts'
import { Field } from '../../parts/field.tsx'
import { type Role, roles, type Staff } from '../../people.ts'
import { ask } from '../../session.ts'
import { ActionDialog } from '../action-dialog.tsx'
import { Checks } from '../checks.tsx'
import { type LabelledPreset, type PresetName, presetNames, presets, products } from '../presets.ts'
import type { Application, ApplicationAdded } from '../replies.ts'
import { useConsole } from '../text/console-words.ts'

interface Form {
  readonly name: string
  /** One address a line. */
  readonly redirect: string
  readonly logout: string
  readonly backchannel: string
  readonly scopes: readonly string[]
  readonly roles: readonly Role[]
  readonly options: readonly string[]
}

const linesIn = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)

const optionsOf = (kind: ClientKind, chosen: readonly Role[]) => [
  ...(chosen.includes('veterinarian') ? ['unverified'] : []),
  ...(kind === 'web' ? ['pkce'] : []),
  ...(kind === 'web' || kind === 'spa' ? ['once'] : []),
  'claims',
  'rs256',
]

const bodyOf = (kind: ClientKind, form: Form, before: Form | null) => ({
  name: form.name,
  scopes: form.scopes,
  ...(kind !== 'service' && {
    redirectUris: linesIn(form.redirect),
    logoutUris: linesIn(form.logout),
    backchannelUri: form.backchannel.trim() || null,
    roles: form.roles,
    claimsInIdToken: form.options.includes('claims'),
    idTokenAlg: form.options.includes('rs256') ? 'RS256' : 'ES256',
    // Who changes only a name decides nothing.
    ...(form.options.includes('unverified') !== before?.options.includes('unverified') && {
      unverifiedVeterinarians: form.options.includes('unverified'),
    }),
  }),
  ...(kind === 'web' && { pkce: form.options.includes('pkce') }),
  ...((kind === 'web' || kind === 'spa') && { consent: form.options.includes('once') ? 'once' : 'never' }),
})

const formOf = (client: Application): Form => ({
  name: client.name,
  redirect: client.redirectUris.join('\n'),
  logout: client.logoutUris.join('\n'),
  backchannel: client.backchannelUri ?? '',
  scopes: client.scopes,
  roles: client.roles,
  options: [
    ...(client.pkce ? ['pkce'] : []),
    ...(client.consent === 'once' ? ['once'] : []),
    ...(client.claimsInIdToken ? ['claims'] : []),
    ...(client.idTokenAlg === 'RS256' ? ['rs256'] : []),
    ...(client.unverifiedVeterinarians === false ? [] : ['unverified']),
  ],
})

export function AddApplication({
  user,
  onDone,
  onCancel,
}: {
  user: Staff
  onDone(added: ApplicationAdded, preset: PresetName): void
  onCancel(): void
}) {
  const { text: all } = useConsole()
  const text = all.applications
  const id = useId()
  const [preset, setPreset] = useState<PresetName>('moodle')
  const [form, setForm] = useState<Form>(filledFor('moodle'))
  const { kind } = presets[preset]
  /** Keeps what was typed. */
  const choose = (next: PresetName) => {
    const { name, scopes, options } = filledFor(next)
    const isOwnName = form.name !== filledFor(preset).name
    setPreset(next)
    setForm({ ...form, name: isOwnName ? form.name : name, scopes, options })
  }
  const added = useRef<ApplicationAdded>(null)
  return (
    <FormDialog
      user={user}
      title={text.addTitle}
      submit={text.addSubmit}
      kind={kind}
      example={presets[preset].redirect}
      before={null}
      form={form}
      onForm={setForm}
      work={async (body) => {
        added.current = await ask<ApplicationAdded>('/staff/clients', {
          method: 'POST',
          body: { ...body, kind },
        })
      }}
      onDone={() => onDone(added.current!, preset)}
      onCancel={onCancel}
    >
      <div className="field">
        <label htmlFor={id}>{text.preset}</label>
        <p className="hint" id={`${id}-hint`}>
          {text.presetHints[preset]}
        </p>
        <select
          id={id}
          aria-describedby={`${id}-hint`}
          value={preset}
          onChange={(event) => choose(presetNames.find((name) => name === event.currentTarget.value)!)}
        >
          {presetNames.map((name) => (
            <option key={name} value={name}>
              {products[name] ?? text.presetLabels[name as LabelledPreset]}
            </option>
          ))}
        </select>
      </div>
    </FormDialog>
  )
}

const filledFor = (preset: PresetName): Form => ({
  name: products[preset] ?? '',
  redirect: '',
  logout: '',
  backchannel: '',
  scopes: presets[preset].scopes,
  roles,
  options: presets[preset].pkce ? ['pkce'] : [],
})

export function ChangeApplication({
  client,
  user,
  onDone,
  onCancel,
}: {
  client: Application
  user: Staff
  onDone(): void
  onCancel(): void
}) {
  const { text } = useConsole()
  const [form, setForm] = useState(formOf(client))
  return (
    <FormDialog
      user={user}
      title={<bdi>{text.applications.changeTitle(client.name)}</bdi>}
      submit={text.applications.changeSubmit}
      kind={client.kind}
      example={null}
      before={formOf(client)}
      form={form}
      onForm={setForm}
      work={(body) => ask(`/staff/clients/${encodeURIComponent(client.clientId)}`, { method: 'PATCH', body })}
      onDone={onDone}
      onCancel={onCancel}
    />
  )
}

function FormDialog({
  kind,
  example,
  before,
  form,
  onForm,
  work,
  children,
  ...dialog
}: {
  user: Staff
  title: ReactNode
  submit: string
  kind: ClientKind
  example: string | null
  /** Null for a new application. */
  before: Form | null
  form: Form
  onForm(form: Form): void
  work(body: object): Promise<void>
  children?: ReactNode
  onDone(): void
  onCancel(): void
}) {
  const { text: all } = useConsole()
  const text = all.applications
  const [checked, setChecked] = useState(false)
  const isForPeople = kind !== 'service'
  const wrong = {
    name: form.name.trim() === '',
    redirect: isForPeople && linesIn(form.redirect).length === 0,
    scopes: form.scopes.length === 0,
    roles: isForPeople && form.roles.length === 0,
  }
  const set = (change: Partial<Form>) => onForm({ ...form, ...change })
  const rule = text.redirectRules[isForPeople ? kind : 'web']
  return (
    <ActionDialog
      {...dialog}
      check={() => {
        setChecked(true)
        return !Object.values(wrong).includes(true)
      }}
      work={() => work(bodyOf(kind, form, before))}
      explain={({ code, fields }) => {
        if (code === 'conflict') return text.tooMany
        const [field] = fields[0]?.split('/') ?? []
        if (field === 'redirectUris' || field === 'logoutUris') return text.wrongUri(rule)
        if (field === 'backchannelUri') return all.webhooks.wrongUrl
        return field === 'name' ? text.wrongName : null
      }}
    >
      {children}
      <Field
        label={text.name}
        hint={text.nameHint}
        autoComplete="off"
        maxLength={200}
        value={form.name}
        onText={(name) => set({ name })}
        error={checked && wrong.name ? text.wrongName : null}
      />
      {isForPeople && (
        <Lines
          label={text.redirect}
          hint={
            <>
              {rule}
              {example && (
                <>
                  {' '}
                  {text.forExample} <bdi dir="ltr">{example}</bdi>
                </>
              )}
            </>
          }
          value={form.redirect}
          onText={(redirect) => set({ redirect })}
          error={checked && wrong.redirect ? text.noRedirect : null}
        />
      )}
      <details open={checked && (wrong.scopes || wrong.roles) ? true : undefined}>
        <summary>{text.more}</summary>
        <Checks
          legend={text.scopes}
          options={scopesOf(kind).map((scope) => ({
            value: scope,
            label: scope,
            hint: text.scopesMean[scope],
          }))}
          chosen={form.scopes}
          onChosen={(scopes) => set({ scopes })}
          error={checked && wrong.scopes ? all.staff.noRight : null}
        />
        {isForPeople && (
          <ForPeople
            kind={kind}
            form={form}
            set={set}
            rolesError={checked && wrong.roles ? all.staff.noRight : null}
          />
        )}
        {!hasSecret(kind) && <p className="soft">{text.noSecret}</p>}
      </details>
    </ActionDialog>
  )
}

/** What only an application has that people sign in to. */
function ForPeople({
  kind,
  form,
  set,
  rolesError,
}: {
  kind: ClientKind
  form: Form
  set(change: Partial<Form>): void
  rolesError: string | null
}) {
  const { applications: text } = useConsole().text
  return (
    <>
      <Checks
        legend={text.roles}
        options={roles.map((role) => ({ value: role, label: text.rolesMany[role] }))}
        chosen={form.roles}
        onChosen={(chosen) => set({ roles: roles.filter((role) => chosen.includes(role)) })}
        error={rolesError}
      />
      <Checks
        legend={text.options}
        options={optionsOf(kind, form.roles).map((value) => ({
          value,
          label: text.optionNames[value]!,
          hint: text.optionsMean[value]!,
        }))}
        chosen={form.options}
        onChosen={(options) => set({ options })}
      />
      <Lines
        label={text.logout}
        hint={text.logoutHint}
        value={form.logout}
        onText={(logout) => set({ logout })}
      />
      <Field
        label={text.backchannel}
        hint={text.backchannelHint}
        type="url"
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        dir="ltr"
        value={form.backchannel}
        onText={(backchannel) => set({ backchannel })}
      />
    </>
  )
}

/** Several addresses, one a line. */
function Lines({
  label,
  hint,
  value,
  onText,
  error,
}: {
  label: string
  hint: ReactNode
  value: string
  onText(text: string): void
  error?: string | null
}) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <p className="hint" id={`${id}-hint`}>
        {hint}
      </p>
      <textarea
        id={id}
        rows={2}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        dir="ltr"
        value={value}
        onChange={(event) => onText(event.currentTarget.value)}
        aria-invalid={error ? true : undefined}
        aria-describedby={error ? `${id}-hint ${id}-error` : `${id}-hint`}
      />
      {error && (
        <p className="field-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
  )
}
