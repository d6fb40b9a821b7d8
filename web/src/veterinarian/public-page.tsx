import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Copy } from '../parts/copy.tsx'
import { Reading } from '../parts/loading.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import type { Veterinarian } from '../people.ts'
import { useResource } from '../resource.ts'
import { ask } from '../session.ts'
import { useWords } from '../text/text.ts'

const path = '/veterinarian/me/public-page'
const read = (path: string) => ask<{ shown: boolean }>(path)

/** The link to the public page, what it says about its owner, and a switch to hide it. */
export function PublicPage({ user }: { user: Veterinarian }) {
  const { text } = useWords()
  const page = useResource(path, read)
  const switching = useAction(async () => {
    page.replace(await ask(path, { method: 'PATCH', body: { shown: !page.data?.shown } }))
  })
  return (
    <section className="card" aria-labelledby="public">
      <h2 id="public">{text.profile.publicPage}</h2>
      <p className={user.verified ? 'badge now' : 'badge'}>
        {user.verified ? text.publicProfile.verified : text.profile.notVerified}
      </p>
      <Reading of={page} />
      {page.data && (
        <>
          <p role="status">{page.data.shown ? said(text, user) : text.profile.publicHidden}</p>
          {page.data.shown && <Copy label={text.profile.publicPage} value={addressOf(user)} />}
          {switching.problem && <ProblemNotice problem={switching.problem} onRetry={switching.run} />}
          <div className="actions">
            {page.data.shown && <Links user={user} />}
            <Button busy={switching.busy} onPress={switching.run}>
              {page.data.shown ? text.profile.hide : text.profile.show}
            </Button>
          </div>
        </>
      )}
    </section>
  )
}

const said = (text: ReturnType<typeof useWords>['text'], { verified }: Veterinarian) =>
  verified ? text.profile.publicLead : text.profile.publicUnverified

const addressOf = ({ userId }: Veterinarian) => new URL(`/v/${userId}`, location.origin).href

function Links({ user }: { user: Veterinarian }) {
  const { text } = useWords()
  return (
    <>
      <a href={addressOf(user)}>{text.profile.open}</a>
      {'share' in navigator && (
        <Button
          look="quiet"
          onPress={() => {
            const title = `${user.firstname} ${user.lastname}`
            navigator.share({ title, url: addressOf(user) }).catch(() => {
              // The share dialogue was cancelled.
            })
          }}
        >
          {text.profile.share}
        </Button>
      )}
    </>
  )
}
