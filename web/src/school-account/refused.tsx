import { type SchoolRole, schoolRoles } from '../../../src/roles.ts'
import { send } from '../http.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { useQuery } from '../route.ts'
import { school } from '../school.ts'
import { ask } from '../session.ts'
import { useWords } from '../text/text.ts'
import { leaveFor, useProviders } from './providers.ts'

/**
 * Where the browser comes back to after a refused sign-in: the page that it was going to, with this after the `#`. It never
 * says why; staff see the reason by the reference.
 */
export function SchoolRefused() {
  const { text } = useWords()
  const [query] = useQuery()
  const reference = query.get('reference')
  const place = `#/${(query.get('place') ?? '').replace(/^\//, '')}`
  return (
    <Page title={text.school.refusedTitle} lead={text.school.refusedLead} narrow>
      <div className="actions named">
        <OtherAccount query={query} place={place} />
        <a className="button" href={place}>
          {text.school.back}
        </a>
      </div>
      <ul>
        {text.school.refusedHints.map((hint) => (
          <li key={hint}>{hint}</li>
        ))}
      </ul>
      {reference !== null && /^[A-Z-]{3,20}$/.test(reference) && (
        <p>
          {text.school.reference} <strong className="reference">{reference}</strong>
        </p>
      )}
      {school.support && (
        <p className="aside">
          <a href={school.support}>{text.footer.help}</a>
        </p>
      )}
    </Page>
  )
}

/** The provider may still be signed in as the one that was refused, so it is asked for another. */
function OtherAccount({ query, place }: { query: URLSearchParams; place: string }) {
  const { text } = useWords()
  const role: SchoolRole | null = schoolRoles.find((one) => one === query.get('role')) ?? null
  const provider = useProviders(role)?.find(({ providerId }) => providerId === query.get('provider'))
  const leaving = useAction(async () => {
    const { providerId } = provider!
    const body = { return: `${location.pathname}${location.search}${place}`, prompt: 'select_account' }
    const started =
      query.get('connecting') === '1'
        ? ask<{ location: string }>('/school/links', { method: 'POST', body: { ...body, providerId } })
        : send<{ location: string }>(`/portal/${role}/school/${providerId}`, { method: 'POST', body })
    leaveFor((await started).location)
  })
  if (!provider) return null
  return (
    <>
      {leaving.problem && <ProblemNotice problem={leaving.problem} />}
      <Button look="main" busy={leaving.busy} onPress={leaving.run}>
        {text.school.otherAccount}
      </Button>
    </>
  )
}
