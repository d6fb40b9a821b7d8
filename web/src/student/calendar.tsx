import { useState } from 'react'
import { asProblem } from '../http.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Copy } from '../parts/copy.tsx'
import { Reading } from '../parts/loading.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { useResource } from '../resource.ts'
import { ask } from '../session.ts'
import { useWords } from '../text/text.ts'
import { QrCode } from './qr-code.tsx'

interface Feed {
  readonly feedId: string
  readonly createdAt: string
}

interface FreshFeed extends Feed {
  readonly url: string
}

const path = '/student/me/calendar'
const read = async (path: string) => (await ask<{ feeds: Feed[] }>(path)).feeds
const revoke = (feeds: readonly Feed[]) =>
  Promise.all(feeds.map(({ feedId }) => ask(`${path}/${feedId}`, { method: 'DELETE' }).catch(unlessGone)))

/** Another window may have revoked it. */
function unlessGone(error: unknown): void {
  if (asProblem(error).code !== 'not-found') throw error
}

/** The feed's address is shown only once, because the service keeps just its hash. */
export function Calendar() {
  const { text, dates } = useWords()
  const feeds = useResource(path, read)
  const newest = feeds.data?.at(-1)
  const [fresh, setFresh] = useState<FreshFeed | null>(null)
  const [asking, setAsking] = useState<'renew' | 'revoke' | null>(null)
  const [said, setSaid] = useState('')
  const making = useAction(async () => {
    setSaid('')
    await revoke(feeds.data ?? [])
    const made = await ask<FreshFeed>(path, { method: 'POST' })
    setAsking(null)
    setFresh(made)
    feeds.replace([made])
  })
  const revoking = useAction(async () => {
    await revoke(feeds.data ?? [])
    setAsking(null)
    setFresh(null)
    feeds.replace([])
    setSaid(text.calendar.revoked)
  })
  const action = asking === 'renew' ? making : revoking

  return (
    <Page title={text.calendar.title} lead={text.calendar.lead} narrow>
      <Reading of={feeds} />
      <p role="status" className="soft">
        {said}
      </p>
      {fresh && <Shown feed={fresh} />}
      {feeds.data?.length === 0 && (
        <div className="actions">
          <Button look="main" busy={making.busy} onPress={making.run}>
            {text.calendar.subscribe}
          </Button>
        </div>
      )}
      {newest && (
        <>
          {!fresh && <p>{text.calendar.madeOn(dates.dayOf(newest.createdAt))}</p>}
          <div className="actions">
            {!fresh && <Button onPress={() => setAsking('renew')}>{text.calendar.renew}</Button>}
            <Button look="danger" onPress={() => setAsking('revoke')}>
              {text.calendar.revoke}
            </Button>
          </div>
        </>
      )}
      {making.problem && !asking && <ProblemNotice problem={making.problem} onRetry={making.run} />}
      {asking && (
        <Confirm
          title={text.calendar[`${asking}Title`]}
          action={text.calendar[asking]}
          busy={action.busy}
          onConfirm={action.run}
          onCancel={() => setAsking(null)}
        >
          <p>{text.calendar[`${asking}Lead`]}</p>
          {action.problem && <ProblemNotice problem={action.problem} />}
        </Confirm>
      )}
    </Page>
  )
}

function Shown({ feed }: { feed: FreshFeed }) {
  const { text } = useWords()
  return (
    <section className="card" aria-labelledby="once">
      <h2 id="once">{text.calendar.once}</h2>
      <p>{text.calendar.onceLead}</p>
      <figure className="qr">
        <QrCode value={feed.url} label={text.calendar.qr} />
        <figcaption>{text.calendar.scan}</figcaption>
      </figure>
      <p>
        <a className="button plain" href={feed.url.replace(/^https?:/, 'webcal:')}>
          {text.calendar.openHere}
        </a>
      </p>
      <Copy label={text.calendar.address} value={feed.url} />
    </section>
  )
}
