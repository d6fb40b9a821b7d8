import { useState } from 'react'
import type { ServedRole } from '../people.ts'
import { ask } from '../session.ts'
import { useWords } from '../text/text.ts'
import { useAction } from './action.ts'
import { Button } from './button.tsx'
import { ProblemNotice } from './notice.tsx'
import { Page } from './page.tsx'
import { save } from './save.ts'

/** Students come from the roster, so they cannot close their accounts themselves. */
const closes: Record<ServedRole, boolean> = { veterinarian: true, student: false }

export function MyData({ owner }: { owner: ServedRole }) {
  const { text } = useWords()
  const [done, setDone] = useState(false)
  const downloading = useAction(async () => {
    setDone(false)
    const data = await ask<object>(`/${owner}/me/export`)
    save('chiron-export.json', 'application/json', JSON.stringify(data, null, 2))
    setDone(true)
  })
  return (
    <Page title={text.data.title}>
      <div className="columns">
        <section className="card" aria-labelledby="download">
          <h2 id="download">{text.data.download}</h2>
          <p>{text.data.downloadLead}</p>
          {downloading.problem && <ProblemNotice problem={downloading.problem} onRetry={downloading.run} />}
          <Button busy={downloading.busy} onPress={downloading.run}>
            {text.data.download}
          </Button>
          <p role="status" className="soft">
            {done && text.data.downloaded}
          </p>
        </section>
        {closes[owner] ? (
          <section className="card" aria-labelledby="close">
            <h2 id="close">{text.data.close}</h2>
            <p>{text.data.closeLead}</p>
            <p>
              <a className="button plain" href="#/close">
                {text.data.closeOpen}
              </a>
            </p>
          </section>
        ) : (
          <section className="card">
            <p>{text.data.roster}</p>
          </section>
        )}
      </div>
    </Page>
  )
}
