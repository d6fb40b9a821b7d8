import { useEffect, useRef, useState } from 'react'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Copy } from '../parts/copy.tsx'
import { Field } from '../parts/field.tsx'
import { Reading } from '../parts/loading.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { focusHeading, Page } from '../parts/page.tsx'
import type { Feed, NewFeed } from '../people.ts'
import { useResource } from '../resource.ts'
import { ask } from '../session.ts'
import { useWords } from '../text/text.ts'
import { QrCode } from './qr-code.tsx'

const path = '/student/me/calendar'
const feedsMax = 5
const read = async (path: string) => (await ask<{ feeds: Feed[] }>(path)).feeds

/** Calendar addresses, one for each program that reads them, so that one can be revoked alone. */
export function Calendar() {
  const { text } = useWords()
  const feeds = useResource(path, read)
  const [fresh, setFresh] = useState<NewFeed | null>(null)
  const [leaving, setLeaving] = useState<Feed | null>(null)
  const [said, setSaid] = useState('')
  const revoking = useAction(async () => {
    if (!leaving) return
    await ask(`${path}/${encodeURIComponent(leaving.feedId)}`, { method: 'DELETE' })
    feeds.replace((feeds.data ?? []).filter(({ feedId }) => feedId !== leaving.feedId))
    if (fresh?.feedId === leaving.feedId) setFresh(null)
    setLeaving(null)
    setSaid(text.calendar.revoked)
    requestAnimationFrame(focusHeading)
  })
  return (
    <Page title={text.calendar.title} lead={text.calendar.lead} narrow>
      <Reading of={feeds} />
      <p role="status" className="soft">
        {said}
      </p>
      {fresh && <Shown feed={fresh} />}
      {feeds.data && feeds.data.length > 0 && (
        <section className="card" aria-labelledby="feeds">
          <h2 id="feeds">{text.calendar.feeds}</h2>
          <ul className="plain-list feeds">
            {feeds.data.map((feed) => (
              <FeedRow key={feed.feedId} feed={feed} onRevoke={() => setLeaving(feed)} />
            ))}
          </ul>
        </section>
      )}
      {feeds.data && feeds.data.length < feedsMax && (
        <NewAddress
          isFirst={feeds.data.length === 0}
          onMade={({ url, ...feed }) => {
            setSaid('')
            setFresh({ url, ...feed })
            feeds.replace([...(feeds.data ?? []), { ...feed, lastReadAt: null }])
          }}
        />
      )}
      {feeds.data?.length === feedsMax && <p className="soft">{text.calendar.full(feedsMax)}</p>}
      {leaving && (
        <Confirm
          title={text.calendar.revokeTitle}
          action={text.calendar.revoke}
          busy={revoking.busy}
          onConfirm={revoking.run}
          onCancel={() => setLeaving(null)}
        >
          <p>{text.calendar.revokeLead}</p>
          {revoking.problem && <ProblemNotice problem={revoking.problem} />}
        </Confirm>
      )}
    </Page>
  )
}

function FeedRow({ feed, onRevoke }: { feed: Feed; onRevoke(): void }) {
  const { text, dates } = useWords()
  return (
    <li>
      <div>
        <strong>{feed.name}</strong>
        <span className="soft">
          {text.calendar.madeOn(dates.dayOf(feed.createdAt))}
          {' · '}
          {feed.lastReadAt === null
            ? text.calendar.neverRead
            : text.calendar.lastRead(dates.recent(feed.lastReadAt))}
        </span>
      </div>
      <Button look="danger" label={`${text.calendar.revoke}: ${feed.name}`} onPress={onRevoke}>
        {text.calendar.revoke}
      </Button>
    </li>
  )
}

function NewAddress({ isFirst, onMade }: { isFirst: boolean; onMade(feed: NewFeed): void }) {
  const { text } = useWords()
  const [name, setName] = useState('')
  const making = useAction(async () => {
    const given = name.trim()
    onMade(await ask<NewFeed>(path, { method: 'POST', body: given === '' ? {} : { name: given } }))
    setName('')
  })
  const refused = making.problem?.fields.includes('name')
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        making.run()
      }}
    >
      <Field
        label={text.calendar.name}
        hint={text.calendar.nameHint}
        name="name"
        autoComplete="off"
        maxLength={100}
        value={name}
        onText={setName}
        error={refused ? text.calendar.wrongName : null}
      />
      {making.problem && !refused && <ProblemNotice problem={making.problem} onRetry={making.run} />}
      <div className="actions">
        <Button look={isFirst ? 'main' : 'plain'} submits busy={making.busy} waits={making.waits}>
          {isFirst ? text.calendar.subscribe : text.calendar.another}
        </Button>
      </div>
    </form>
  )
}

/** The address is shown only once, because the service keeps just its hash. */
function Shown({ feed }: { feed: NewFeed }) {
  const { text } = useWords()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [feed.feedId])
  const webcal = feed.url.replace(/^https?:/, 'webcal:')
  const google = `https://calendar.google.com/calendar/r?${new URLSearchParams({ cid: webcal })}`
  const outlook = `https://outlook.live.com/calendar/0/addfromweb?${new URLSearchParams({ url: feed.url, name: feed.name })}`
  return (
    <section className="card" aria-labelledby="once">
      <h2 id="once" ref={heading} tabIndex={-1}>
        {text.calendar.once}
      </h2>
      <p>{text.calendar.onceLead}</p>
      <div className="actions providers">
        <a className="button main" href={webcal}>
          {text.calendar.apple}
        </a>
        <a className="button plain" href={google} target="_blank" rel="noopener noreferrer">
          {text.calendar.google}
        </a>
        <a className="button plain" href={outlook} target="_blank" rel="noopener noreferrer">
          {text.calendar.outlook}
        </a>
      </div>
      <figure className="qr from-desk">
        <figcaption>{text.calendar.scan}</figcaption>
        <QrCode value={webcal} label={text.calendar.qr} />
      </figure>
      <Copy label={text.calendar.address} value={feed.url} />
    </section>
  )
}
