import { useState } from 'react'
import type { Static } from 'typebox'
import type { SchoolLink } from '../../../src/identity/school-account/schemas.ts'
import type { SchoolRole } from '../../../src/roles.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Reading } from '../parts/loading.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { focusHeading, Page } from '../parts/page.tsx'
import { Removal } from '../passkeys/removal.tsx'
import { StepUp } from '../passkeys/step-up.tsx'
import { useResource } from '../resource.ts'
import { ask } from '../session.ts'
import { useWords } from '../text/text.ts'
import { leaveFor, type Provider, useProviders } from './providers.ts'

type Link = Static<typeof SchoolLink>

const readLinks = (path: string) => ask<{ links: Link[] }>(path).then(({ links }) => links)

/** One's own accounts at the school's providers. */
export function SchoolLinks({ as: role, email }: { as: SchoolRole; email: string }) {
  const { text } = useWords()
  const list = useResource('/school/links', readLinks)
  const providers = useProviders(role)
  const [chosen, setChosen] = useState<Provider | null>(null)
  const [removed, setRemoved] = useState<Link | null>(null)
  const [said, setSaid] = useState('')
  const connecting = useAction(async (provider: Provider) => {
    setChosen(provider)
    const body = { providerId: provider.providerId, return: `${location.pathname}#/school-links` }
    leaveFor((await ask<{ location: string }>('/school/links', { method: 'POST', body })).location)
  })
  const stale = connecting.problem?.code === 'recent-sign-in-required' ? connecting.problem : null
  const isDown = connecting.problem?.code === 'unavailable' && chosen !== null
  const open = providers?.filter(
    ({ providerId }) => !list.data?.some((link) => link.providerId === providerId),
  )

  return (
    <Page title={text.school.title} lead={text.school.lead}>
      <Reading of={list} />
      {isDown && <p role="alert">{text.school.down(chosen.name)}</p>}
      {connecting.problem && !stale && !isDown && <ProblemNotice problem={connecting.problem} />}
      <p role="status" className="soft">
        {said}
      </p>
      {list.data?.length === 0 && <p>{text.school.none}</p>}
      <ul className="cards devices">
        {list.data?.map((link) => (
          <Entry key={link.providerId} link={link} onRemove={() => setRemoved(link)} />
        ))}
      </ul>
      {list.data &&
        open?.map((provider) => (
          <div key={provider.providerId} className="actions named">
            <Button look="main" busy={connecting.busy} onPress={() => connecting.run(provider)}>
              {text.school.connect(provider.name)}
            </Button>
          </div>
        ))}
      {stale && chosen && (
        <Dialog title={text.school.connect(chosen.name)} onCancel={connecting.forget}>
          <StepUp
            as={role}
            email={email}
            problem={stale}
            why={text.passkeys.fresh}
            action={text.passkeys.goOn}
            onDone={() => connecting.run(chosen)}
            onCancel={connecting.forget}
          />
        </Dialog>
      )}
      {removed && (
        <Removal
          path={`/school/links/${removed.providerId}`}
          title={text.school.removeTitle(removed.name)}
          lead={role === 'student' ? text.school.removeLead : text.school.removeStaffLead}
          action={text.school.remove}
          as={role}
          email={email}
          onCancel={() => setRemoved(null)}
          onDone={() => {
            list.replace((list.data ?? []).filter((each) => each.providerId !== removed.providerId))
            setSaid(text.school.removed(removed.name))
            setRemoved(null)
            requestAnimationFrame(focusHeading)
          }}
        />
      )}
    </Page>
  )
}

function Entry({ link, onRemove }: { link: Link; onRemove(): void }) {
  const { text, dates } = useWords()
  const { name, createdAt, lastUsedAt } = link
  return (
    <li className="card">
      <div>
        <h2>
          <bdi>{name}</bdi>
        </h2>
        <p>
          {lastUsedAt === null ? text.passkeys.neverUsed : text.passkeys.lastUsed(dates.recent(lastUsedAt))}
        </p>
        <p className="soft">{text.school.connectedOn(dates.moment(createdAt))}</p>
      </div>
      <div className="actions">
        <Button label={`${text.school.remove}: ${name}`} onPress={onRemove}>
          {text.school.remove}
        </Button>
      </div>
    </li>
  )
}
