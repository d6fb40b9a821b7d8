import type { Static } from 'typebox'
import type { PublicProfile as Profile } from '../../../src/school/veterinarian/schemas.ts'
import { send } from '../http.ts'
import { Reading } from '../parts/loading.tsx'
import { Monogram } from '../parts/monogram.tsx'
import { Page } from '../parts/page.tsx'
import { useResource } from '../resource.ts'
import { useWords } from '../text/text.ts'

const read = (userId: string) => send<Static<typeof Profile>>(`/veterinarian/${userId}`)

/** `/v/{userId}`, visible to everybody. */
export function PublicProfile({ userId }: { userId: string }) {
  const { text } = useWords()
  const profile = useResource(userId, read)
  if (profile.problem?.code === 'not-found')
    return (
      <Page title={text.publicProfile.none} lead={text.publicProfile.noneLead} narrow>
        <p>
          <a href="/#/">{text.publicProfile.toPortal}</a>
        </p>
      </Page>
    )
  if (!profile.data)
    return (
      <main id="content" className="page narrow">
        <Reading of={profile} />
      </main>
    )
  const { firstname, lastname, verified } = profile.data
  const name = `${firstname} ${lastname}`
  return (
    <Page
      title={name}
      narrow
      heading={
        <>
          <Monogram of={profile.data} />
          <bdi>{name}</bdi>
        </>
      }
    >
      {verified && <p className="badge now">{text.publicProfile.verified}</p>}
      <p>{verified ? text.publicProfile.verifiedNote : text.publicProfile.unverifiedNote}</p>
      <p>
        <a href="/#/">{text.publicProfile.toPortal}</a>
      </p>
    </Page>
  )
}
