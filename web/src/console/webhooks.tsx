import { type ReactNode, useRef, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { Copy } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { Reading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import type { Staff } from '../people.ts'
import { useResource } from '../resource.ts'
import { ask } from '../session.ts'
import { useWords } from '../text/text.ts'
import { ActionDialog } from './action-dialog.tsx'
import { Attempts } from './attempts.tsx'
import { Checks } from './checks.tsx'
import type { Webhook, WebhookDelivery, WebhookState, WebhookTest, WebhookWithSecret } from './replies.ts'
import { type State, StateMark } from './state.tsx'
import { useConsole } from './text/console-words.ts'

const read = (path: string) => ask<{ webhooks: Webhook[] }>(path).then(({ webhooks }) => webhooks)
const pathOf = ({ id }: Webhook) => `/staff/webhooks/${encodeURIComponent(id)}`

type What = 'test' | 'rotate' | 'replay' | 'disable' | 'enable' | 'remove'
type Doing = { readonly what: 'add' } | { readonly what: What; readonly webhook: Webhook }

export function WebhooksPage({ user }: { user: Staff }) {
  const { text: all } = useConsole()
  const text = all.webhooks
  const webhooks = useResource('/staff/webhooks', read)
  const [doing, setDoing] = useState<Doing | null>(null)
  const [said, setSaid] = useState({ words: '', isGood: true })
  const [secret, setSecret] = useState<string | null>(null)
  const onCancel = () => setDoing(null)
  const onDone = (words: string, isGood = true) => {
    setDoing(null)
    setSaid({ words, isGood })
    webhooks.reload()
  }
  return (
    <Page title={text.title} lead={text.lead}>
      <Reading of={webhooks} />
      <p role="status" className={said.words ? `notice ${said.isGood ? 'good' : 'bad'}` : 'said'}>
        {said.words}
      </p>
      {webhooks.data && (
        <p>
          <Button look="main" onPress={() => setDoing({ what: 'add' })}>
            {text.add}
          </Button>
        </p>
      )}
      {webhooks.data?.length === 0 && <p className="soft">{text.none}</p>}
      <ul className="cards devices">
        {webhooks.data?.map((webhook) => (
          <WebhookCard key={webhook.id} webhook={webhook} onAction={(what) => setDoing({ what, webhook })} />
        ))}
      </ul>
      {doing?.what === 'add' && (
        <AddWebhook user={user} onSecret={setSecret} onDone={() => onDone('')} onCancel={onCancel} />
      )}
      {doing && doing.what !== 'add' && (
        <WebhookAction
          what={doing.what}
          webhook={doing.webhook}
          user={user}
          onSecret={setSecret}
          onDone={onDone}
          onCancel={onCancel}
        />
      )}
      {secret !== null && doing === null && (
        <Dialog title={text.secret} onCancel={() => setSecret(null)}>
          <p>{text.secretLead}</p>
          <Copy label={text.secret} value={secret} />
          <div className="actions">
            <Button look="main" onPress={() => setSecret(null)}>
              {text.close}
            </Button>
          </div>
        </Dialog>
      )}
    </Page>
  )
}

function stateOf({ enabled, disabledBecause, readable, failures }: Webhook): State {
  if (!enabled) return disabledBecause === 'operator' ? 'empty' : 'bad'
  return !readable || failures > 0 ? 'bad' : 'good'
}

function WebhookCard({ webhook, onAction }: { webhook: Webhook; onAction(what: What): void }) {
  const { dates } = useWords()
  const { text: all, number } = useConsole()
  const text = all.webhooks
  const { url, events, enabled, disabledAt, disabledBecause, readable, failures, waiting, createdAt } =
    webhook
  const state = stateOf(webhook)
  const offWord = { operator: text.disabled, gone: text.gone, failing: text.failed }
  const word = disabledBecause ? offWord[disabledBecause] : state === 'good' ? text.enabled : text.troubled
  const actions: [What, string][] = [
    ['test', text.test],
    ['replay', text.replay],
    ['rotate', text.rotate],
    enabled ? ['disable', text.disable] : ['enable', text.enable],
    ['remove', text.remove],
  ]
  return (
    <li className="card">
      <div>
        <h2>
          <bdi dir="ltr">{url}</bdi>
        </h2>
        <p>
          <StateMark state={state} word={word} />{' '}
          <span className="soft">{text.since(dates.dayOf(disabledAt ?? createdAt))}</span>
        </p>
        <p>{events.includes('*') ? text.allEvents : events.map((type) => wordsFor(type, all)).join(', ')}</p>
        {!readable && <p>{text.unreadable}</p>}
        {failures > 0 && <p>{text.failing(failures, number(failures))}</p>}
        {waiting > 0 && <p>{text.waiting(waiting, number(waiting))}</p>}
        <Lately webhook={webhook} />
      </div>
      <div className="actions">
        {actions.map(([what, label]) => (
          <Button
            key={what}
            look={what === 'remove' ? 'danger' : 'plain'}
            label={`${label} ${url}`}
            onPress={() => onAction(what)}
          >
            {label}
          </Button>
        ))}
      </div>
    </li>
  )
}

const wordsFor = (type: string, { events }: ReturnType<typeof useConsole>['text']) =>
  Object.entries(events.types).find(([name]) => name === type)?.[1] ?? type

const deliveryStates: Record<WebhookState, State> = {
  waiting: 'warning',
  delivered: 'good',
  'given-up': 'bad',
  dropped: 'empty',
}

/** Read only when it is opened. */
function Lately({ webhook }: { webhook: Webhook }) {
  const { text } = useConsole()
  const [open, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{text.webhooks.deliveries}</summary>
      {open && <Deliveries path={`${pathOf(webhook)}/deliveries`} />}
    </details>
  )
}

const readDeliveries = (path: string) =>
  ask<{ deliveries: WebhookDelivery[] }>(path).then(({ deliveries }) => deliveries)

function Deliveries({ path }: { path: string }) {
  const { text: all, number } = useConsole()
  const text = all.webhooks
  const deliveries = useResource(path, readDeliveries)
  return (
    <>
      <Reading of={deliveries} />
      {deliveries.data?.length === 0 && <p className="soft">{all.none}</p>}
      <ul className="rows plain-list">
        {deliveries.data?.map((delivery) => {
          const { number: n, type, state } = delivery
          return (
            <li key={n}>
              <span>
                {number(n)} · {type === null ? '' : wordsFor(type, all)}
              </span>
              <StateMark state={deliveryStates[state] ?? 'empty'} word={text.states[state] ?? state} />
              <Attempts of={delivery} />
            </li>
          )
        })}
      </ul>
    </>
  )
}

function AddWebhook({
  user,
  onSecret,
  onDone,
  onCancel,
}: {
  user: Staff
  onSecret(secret: string): void
  onDone(): void
  onCancel(): void
}) {
  const { text: all } = useConsole()
  const text = all.webhooks
  const [url, setUrl] = useState('https://')
  const [groups, setGroups] = useState<readonly string[]>(['*'])
  const [checked, setChecked] = useState(false)
  const wrong = !/^https?:\/\/[^\s/]+/.test(url.trim())
  const noEvents = groups.length === 0
  const events = groups.includes('*')
    ? ['*']
    : Object.keys(all.events.types).filter((type) => groups.includes(type.split('.')[0]!))
  return (
    <ActionDialog
      user={user}
      title={text.addTitle}
      submit={text.submit}
      check={() => {
        setChecked(true)
        return !wrong && !noEvents
      }}
      work={async () => {
        const body = { url: url.trim(), events }
        onSecret((await ask<WebhookWithSecret>('/staff/webhooks', { method: 'POST', body })).secret)
      }}
      explain={({ fields }) => (fields.includes('url') ? text.wrongUrl : null)}
      onDone={onDone}
      onCancel={onCancel}
    >
      <Field
        label={text.url}
        type="url"
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        dir="ltr"
        value={url}
        onText={setUrl}
        error={checked && wrong ? text.wrongUrl : null}
      />
      <Checks
        legend={text.which}
        options={[
          { value: '*', label: text.allEvents },
          ...Object.entries(all.events.groups).map(([value, label]) => ({ value, label })),
        ]}
        chosen={groups}
        onChosen={setGroups}
        error={checked && noEvents ? all.staff.noRight : null}
      />
    </ActionDialog>
  )
}

function WebhookAction({
  what,
  webhook,
  user,
  onSecret,
  onDone,
  onCancel,
}: {
  what: What
  webhook: Webhook
  user: Staff
  onSecret(secret: string): void
  onDone(said: string, isGood?: boolean): void
  onCancel(): void
}) {
  const { text: all, number } = useConsole()
  const text = all.webhooks
  const [since, setSince] = useState('')
  const [checked, setChecked] = useState(false)
  const said = useRef({ words: text.changed, isGood: true })
  const path = pathOf(webhook)
  const sinceMissing = Number.isNaN(Date.parse(since))
  const words: Record<
    What,
    { title: string; effects: readonly string[]; undo?: string; submit: string; work(): Promise<void> }
  > = {
    test: {
      title: text.testTitle,
      effects: text.testEffects,
      submit: text.testSubmit,
      work: async () => {
        const { status, error } = await ask<WebhookTest>(`${path}/test`, { method: 'POST' })
        const words = error === null ? text.testGood(status!) : text.testBad(error)
        said.current = { words, isGood: error === null }
      },
    },
    rotate: {
      title: text.rotateTitle,
      effects: text.rotateEffects,
      undo: text.secretLead,
      submit: text.rotateSubmit,
      work: async () => onSecret((await ask<WebhookWithSecret>(`${path}/rotate`, { method: 'POST' })).secret),
    },
    replay: {
      title: text.replayTitle,
      effects: text.replayEffects,
      submit: text.replaySubmit,
      work: async () => {
        const body = { since: new Date(since).toISOString() }
        const { queued } = await ask<{ queued: number }>(`${path}/replay`, { method: 'POST', body })
        said.current = { words: text.replayed(queued, number(queued)), isGood: true }
      },
    },
    disable: {
      title: text.disableTitle,
      effects: text.disableEffects,
      undo: text.disableUndo,
      submit: text.disableSubmit,
      work: () => ask(path, { method: 'PATCH', body: { enabled: false } }),
    },
    enable: {
      title: text.enableTitle,
      effects: text.enableEffects,
      submit: text.enableSubmit,
      work: () => ask(path, { method: 'PATCH', body: { enabled: true } }),
    },
    remove: {
      title: text.removeTitle,
      effects: text.removeEffects,
      submit: text.removeSubmit,
      work: () => ask(path, { method: 'DELETE' }),
    },
  }
  const address: ReactNode = (
    <p>
      <bdi dir="ltr">{webhook.url}</bdi>
    </p>
  )
  return (
    <ActionDialog
      user={user}
      {...words[what]}
      isFinal={what === 'remove'}
      danger={what === 'remove' || what === 'disable'}
      check={() => {
        setChecked(true)
        return what !== 'replay' || !sinceMissing
      }}
      onDone={() => onDone(said.current.words, said.current.isGood)}
      onCancel={onCancel}
    >
      {address}
      {what === 'replay' && (
        <Field
          label={text.replaySince}
          type="datetime-local"
          value={since}
          onText={setSince}
          error={checked && sinceMissing ? all.actions.reasonMissing : null}
        />
      )}
    </ActionDialog>
  )
}
