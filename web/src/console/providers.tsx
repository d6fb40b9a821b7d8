import { useRef, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { Copy } from '../parts/copy.tsx'
import { Field } from '../parts/field.tsx'
import { Reading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import type { Staff } from '../people.ts'
import { useResource } from '../resource.ts'
import { ask } from '../session.ts'
import { useWords } from '../text/text.ts'
import { ActionDialog } from './action-dialog.tsx'
import { Checks } from './checks.tsx'
import { Choice } from './filter.tsx'
import type { Provider, ProviderTest } from './replies.ts'
import { StateMark } from './state.tsx'
import { useConsole } from './text/console-words.ts'

const read = (path: string) => ask<{ providers: Provider[] }>(path).then(({ providers }) => providers)
const pathOf = ({ providerId }: Provider) => `/staff/providers/${encodeURIComponent(providerId)}`

type What = 'test' | 'change' | 'disable' | 'enable' | 'remove'
type Doing = { readonly what: 'add' } | { readonly what: What; readonly provider: Provider }
type Kind = Provider['kind']

/** The school's OpenID providers, and a test of each without a person. */
export function ProvidersPage({ user }: { user: Staff }) {
  const { text: all } = useConsole()
  const text = all.providers
  const providers = useResource('/staff/providers', read)
  const [doing, setDoing] = useState<Doing | null>(null)
  const [said, setSaid] = useState('')
  const [tested, setTested] = useState<Readonly<Record<string, ProviderTest>>>({})
  const onCancel = () => setDoing(null)
  const onDone = (words: string) => {
    setDoing(null)
    setSaid(words)
    providers.reload()
  }
  return (
    <Page title={text.title} lead={text.lead}>
      <Reading of={providers} />
      <p role="status" className={said ? 'notice good' : 'said'}>
        {said}
      </p>
      {providers.data && (
        <p>
          <Button look="main" onPress={() => setDoing({ what: 'add' })}>
            {text.add}
          </Button>
        </p>
      )}
      {providers.data?.length === 0 && <p className="soft">{text.none}</p>}
      <ul className="cards devices">
        {providers.data?.map((provider) => (
          <ProviderCard
            key={provider.providerId}
            provider={provider}
            test={tested[provider.providerId]}
            onAction={(what) => setDoing({ what, provider })}
          />
        ))}
      </ul>
      <p>
        <a href="#/refusals">{text.refusals}</a>
      </p>
      {doing?.what === 'add' && (
        <ProviderForm user={user} before={null} onDone={onDone} onCancel={onCancel} />
      )}
      {doing?.what === 'change' && (
        <ProviderForm user={user} before={doing.provider} onDone={onDone} onCancel={onCancel} />
      )}
      {doing && doing.what !== 'add' && doing.what !== 'change' && (
        <ProviderAction
          what={doing.what}
          provider={doing.provider}
          user={user}
          onTest={(test) => setTested({ ...tested, [doing.provider.providerId]: test })}
          onDone={onDone}
          onCancel={onCancel}
        />
      )}
    </Page>
  )
}

function ProviderCard({
  provider,
  test,
  onAction,
}: {
  provider: Provider
  test: ProviderTest | undefined
  onAction(what: What): void
}) {
  const { text: all, number } = useConsole()
  const text = all.providers
  const { name, kind, issuer, roles, enabled, readable, links, redirectUri, logoutUri } = provider
  const state = !enabled ? 'empty' : readable ? 'good' : 'bad'
  const actions: [What, string][] = [
    ['test', text.test],
    ['change', text.change],
    enabled ? ['disable', text.disable] : ['enable', text.enable],
    ['remove', text.remove],
  ]
  return (
    <li className="card">
      <div>
        <h2>
          <bdi>{name}</bdi>
        </h2>
        <p>
          <StateMark state={state} word={enabled ? text.enabled : text.disabled} />{' '}
          <span className="soft">
            {text.kinds[kind]} · <bdi dir="ltr">{issuer}</bdi>
          </span>
        </p>
        <p>
          {roles.map((role) => text.roles[role]).join(', ')} · {text.links(links, number(links))}
        </p>
        {!readable && <p>{text.unreadable}</p>}
        <p className="small">{text.redirectUri}</p>
        <Copy label={text.redirectUri} value={redirectUri} />
        <p className="small">{text.logoutUri}</p>
        <Copy label={text.logoutUri} value={logoutUri} />
        {test && <Steps of={test} />}
      </div>
      <div className="actions">
        {actions.map(([what, label]) => (
          <Button
            key={what}
            look={what === 'remove' ? 'danger' : 'plain'}
            label={`${label} ${name}`}
            onPress={() => onAction(what)}
          >
            {label}
          </Button>
        ))}
      </div>
    </li>
  )
}

/** The technical part is in the service's own words. */
function Steps({ of: { steps } }: { of: ProviderTest }) {
  const { text } = useConsole()
  return (
    <ul>
      {steps.map(({ step, ok, text: detail }) => (
        <li key={step}>
          <StateMark state={ok ? 'good' : 'bad'} word={text.providers.steps[step] ?? step} />{' '}
          <bdi className="soft">{detail}</bdi>
        </li>
      ))}
    </ul>
  )
}

function ProviderAction({
  what,
  provider,
  user,
  onTest,
  onDone,
  onCancel,
}: {
  what: Exclude<What, 'change'>
  provider: Provider
  user: Staff
  onTest(test: ProviderTest): void
  onDone(said: string): void
  onCancel(): void
}) {
  const { text: all } = useConsole()
  const text = all.providers
  const said = useRef(text.changed)
  const path = pathOf(provider)
  const words = text.actions[what]
  const work: Record<typeof what, () => Promise<void>> = {
    test: async () => {
      const test = await ask<ProviderTest>(`${path}/test`, { method: 'POST' })
      onTest(test)
      said.current = test.ok ? text.testGood : text.testBad
    },
    disable: () => ask(path, { method: 'PATCH', body: { enabled: false } }),
    enable: () => ask(path, { method: 'PATCH', body: { enabled: true } }),
    remove: () => ask(path, { method: 'DELETE' }),
  }
  return (
    <ActionDialog
      user={user}
      title={words.title}
      effects={words.effects}
      submit={words.submit}
      isFinal={what === 'remove'}
      danger={what === 'remove' || what === 'disable'}
      work={work[what]}
      onDone={() => onDone(said.current)}
      onCancel={onCancel}
    >
      <p>
        <bdi>{provider.name}</bdi>
      </p>
    </ActionDialog>
  )
}

const listFrom = (text: string) => text.split(/[\s,]+/).filter(Boolean)

const fieldsOf = (before: Provider | null) => ({
  name: before?.name ?? '',
  issuer: before?.issuer ?? '',
  tenant: before?.tenant ?? '',
  hostedDomain: before?.hostedDomain ?? '',
  clientId: before?.clientId ?? '',
  secret: '',
  domains: before?.domains.join(', ') ?? '',
  numberClaim: before?.numberClaim ?? '',
  addressClaim: before?.addressClaim ?? '',
})
type Fields = ReturnType<typeof fieldsOf>
type Name = keyof Fields

const shownFor = (kind: Kind, isNew: boolean): readonly Name[] => [
  'name',
  ...(isNew && kind !== 'google' ? (['issuer'] as const) : []),
  ...(isNew && kind === 'entra' ? (['tenant'] as const) : []),
  ...(isNew && kind === 'google' ? (['hostedDomain'] as const) : []),
  'clientId',
  'secret',
  'domains',
  'numberClaim',
  ...(kind === 'oidc' ? (['addressClaim'] as const) : []),
]

const neededFor = (kind: Kind, isNew: boolean): readonly Name[] => [
  'name',
  'clientId',
  ...(isNew ? (['secret', kind === 'google' ? 'hostedDomain' : 'issuer'] as const) : []),
]

interface Form {
  readonly kind: Kind
  readonly roles: readonly string[]
  readonly fields: Fields
  readonly trusts: boolean
}

function bodyOf({ kind, roles, fields, trusts }: Form, isNew: boolean) {
  const value = (name: Name) => fields[name].trim()
  return {
    name: value('name'),
    clientId: value('clientId'),
    roles,
    numberClaim: value('numberClaim') || null,
    ...(kind === 'oidc' && { addressClaim: value('addressClaim') || null, trustAddresses: trusts }),
    ...((value('domains') !== '' || !isNew) && { domains: listFrom(value('domains')) }),
    ...(value('secret') !== '' && { secret: value('secret') }),
    ...(isNew && {
      kind,
      ...(kind !== 'google' && { issuer: value('issuer') }),
      ...(kind === 'entra' && value('tenant') !== '' && { tenant: value('tenant') }),
      ...(kind === 'google' && { hostedDomain: value('hostedDomain') }),
    }),
  }
}

/** Kind, issuer and tenant stay once a provider is there, because links belong to them. */
function ProviderForm({
  user,
  before,
  onDone,
  onCancel,
}: {
  user: Staff
  before: Provider | null
  onDone(said: string): void
  onCancel(): void
}) {
  const { text: all } = useConsole()
  const { text: shared } = useWords()
  const text = all.providers
  const [kind, setKind] = useState<Kind>(before?.kind ?? 'entra')
  const [roles, setRoles] = useState<readonly string[]>(before?.roles ?? ['student'])
  const [fields, setFields] = useState(fieldsOf(before))
  const [trusts, setTrusts] = useState(before?.trustAddresses ?? false)
  const [checked, setChecked] = useState(false)
  const [refused, setRefused] = useState<readonly string[]>([])
  const isNew = before === null
  const shown = shownFor(kind, isNew)
  const isMissing = (name: Name) => neededFor(kind, isNew).includes(name) && fields[name].trim() === ''
  return (
    <ActionDialog
      user={user}
      title={isNew ? text.addTitle : text.changeTitle}
      submit={isNew ? text.addSubmit : text.changeSubmit}
      check={() => {
        setChecked(true)
        setRefused([])
        return !shown.some(isMissing) && roles.length > 0
      }}
      work={async () => {
        const path = isNew ? '/staff/providers' : pathOf(before)
        const body = bodyOf({ kind, roles, fields, trusts }, isNew)
        await ask(path, { method: isNew ? 'POST' : 'PATCH', body })
      }}
      explain={(problem) => {
        if (problem.fields.some((name) => !refused.includes(name))) setRefused(problem.fields)
        return problem.code === 'invalid-request' ? shared.problems['invalid-request'] : null
      }}
      onDone={() => onDone(isNew ? text.added : text.changed)}
      onCancel={onCancel}
    >
      {isNew && (
        <Choice
          label={text.kind}
          value={kind}
          of={(Object.entries(text.kinds) as [Kind, string][]).map(([name, words]) => [name, words])}
          onChange={(chosen) => setKind(chosen as Kind)}
        />
      )}
      {shown.map((name) => (
        <Field
          key={name}
          label={text.fields[name]}
          hint={text.hints[name]}
          type={name === 'secret' ? 'password' : 'text'}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          value={fields[name]}
          onText={(typed) => setFields({ ...fields, [name]: typed })}
          error={(checked && isMissing(name)) || refused.includes(name) ? text.wrong : null}
        />
      ))}
      {kind === 'oidc' && (
        <label className="check">
          <input
            type="checkbox"
            checked={trusts}
            onChange={(event) => setTrusts(event.currentTarget.checked)}
          />
          <span>
            {text.trust}
            <span className="small soft meaning">{text.trustHint}</span>
          </span>
        </label>
      )}
      <Checks
        legend={text.who}
        options={[
          { value: 'student', label: text.roles.student },
          { value: 'staff', label: text.roles.staff, hint: text.staffHint },
        ]}
        chosen={roles}
        onChosen={setRoles}
        error={checked && roles.length === 0 ? all.staff.noRight : null}
      />
    </ActionDialog>
  )
}
