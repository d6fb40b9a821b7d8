import { Reading } from '../../parts/loading.tsx'
import { Page } from '../../parts/page.tsx'
import type { Staff } from '../../people.ts'
import { useResource } from '../../resource.ts'
import { ask } from '../../session.ts'
import type { ImportDetail } from '../roster-replies.ts'
import { useConsole } from '../text/console-words.ts'
import { Changes } from './changes.tsx'
import { About, Allowed, Title } from './history.tsx'
import { ToRoster } from './plan.tsx'

const read = (path: string) => ask<ImportDetail>(path)

/** What one import, undo or correction changed. */
export function ImportPage({ number: id, user }: { number: string; user: Staff }) {
  const { text: all, number } = useConsole()
  const text = all.roster
  const path = `/staff/roster/imports/${encodeURIComponent(id)}`
  const one = useResource(path, read)
  const { data, problem } = one
  if (!data && problem?.code === 'not-found')
    return (
      <Page title={text.importUnknown} narrow>
        <ToRoster />
      </Page>
    )
  return (
    <Page title={text.numbered(number(Number(id)))}>
      <ToRoster />
      <Reading of={one} />
      {data && (
        <>
          <p>
            <Title of={data} />
          </p>
          <p className="soft">
            <About of={data} user={user} />
          </p>
          {data.allowed.length > 0 && (
            <p>
              <Allowed of={data} user={user} />
            </p>
          )}
          {!data.changesKept && <p>{text.changesGone}</p>}
          {data.changesKept && data.groups.length === 0 && <p>{text.changedNothing}</p>}
          {data.groups.length > 0 && <Changes groups={data.groups} path={`${path}/changes`} />}
        </>
      )}
    </Page>
  )
}
