/** Applications that sign people in here, and services. */
import { useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { Reading } from '../../parts/loading.tsx'
import { Page } from '../../parts/page.tsx'
import type { Staff } from '../../people.ts'
import { useResource } from '../../resource.ts'
import { ask } from '../../session.ts'
import type { PresetName } from '../presets.ts'
import type { ApplicationAdded, ApplicationSummary } from '../replies.ts'
import { type State, StateMark } from '../state.tsx'
import { useConsole } from '../text/console-words.ts'
import { AddApplication } from './form.tsx'
import { PasteDialog } from './paste.tsx'

const read = (path: string) => ask<{ clients: ApplicationSummary[] }>(path).then(({ clients }) => clients)

export const applicationHash = (clientId: string) => `#/applications/${encodeURIComponent(clientId)}`

export function ApplicationsPage({ user }: { user: Staff }) {
  const { text: all } = useConsole()
  const text = all.applications
  const clients = useResource('/staff/clients', read)
  const [adding, setAdding] = useState(false)
  const [added, setAdded] = useState<{ client: ApplicationAdded; preset: PresetName } | null>(null)
  return (
    <Page title={text.title} lead={text.lead}>
      <Reading of={clients} />
      {clients.data && (
        <p>
          <Button look="main" onPress={() => setAdding(true)}>
            {text.add}
          </Button>
        </p>
      )}
      {clients.data?.length === 0 && <p className="soft">{text.none}</p>}
      {clients.data && clients.data.length > 0 && (
        <ul className="results" aria-label={text.title}>
          {clients.data.map((client) => (
            <li key={client.clientId}>
              <Entry of={client} />
            </li>
          ))}
        </ul>
      )}
      {adding && (
        <AddApplication
          user={user}
          onDone={(client, preset) => {
            setAdding(false)
            setAdded({ client, preset })
            clients.reload()
          }}
          onCancel={() => setAdding(false)}
        />
      )}
      {added && (
        <PasteDialog
          title={text.added(added.client.name)}
          preset={added.preset}
          of={{ ...added.client, redirectUri: added.client.redirectUris[0] ?? '' }}
          onClose={() => setAdded(null)}
        />
      )}
    </Page>
  )
}

function Entry({ of }: { of: ApplicationSummary }) {
  const { text: all, number, ago } = useConsole()
  const text = all.applications
  const { kind, signedIn, lastUsedAt } = of
  return (
    <a href={applicationHash(of.clientId)}>
      <bdi className="name">{of.name}</bdi>
      <ApplicationState of={of} />
      <span className="soft">
        {text.kinds[kind]}
        {kind !== 'service' && ` · ${text.signedIn(signedIn, number(signedIn))}`}
        {` · ${lastUsedAt === null ? text.neverUsed : text.lastUsed(ago(lastUsedAt))}`}
      </span>
    </a>
  )
}

function stateOf({ enabled, calls, unverifiedVeterinarians }: ApplicationSummary): State {
  if (!enabled) return 'empty'
  return calls.failed > 0 || unverifiedVeterinarians === null ? 'warning' : 'good'
}

export function ApplicationState({ of }: { of: ApplicationSummary }) {
  const { text: all, number } = useConsole()
  const text = all.applications
  const state = stateOf(of)
  const words = {
    good: text.enabled,
    empty: text.disabled,
    warning: [
      ...(of.calls.failed > 0 ? [text.callsFailed(of.calls.failed, number(of.calls.failed))] : []),
      ...(of.unverifiedVeterinarians === null ? [text.undecided] : []),
    ].join(' · '),
    bad: '',
  }
  return <StateMark state={state} word={words[state]} />
}
