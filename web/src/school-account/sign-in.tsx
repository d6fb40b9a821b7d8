import { useEffect, useState } from 'react'
import { returnBytesMax, returnLengthMax } from '../../../src/identity/school-account/return-path.ts'
import type { SchoolRole } from '../../../src/roles.ts'
import { send } from '../http.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Notice, ProblemNotice } from '../parts/notice.tsx'
import { isOpen } from '../school.ts'
import { useWords } from '../text/text.ts'
import { leaveFor, type Provider, useProviders } from './providers.ts'

/** Buttons to sign in with an account of the school. */
export function SchoolSignIn({ as: role }: { as: SchoolRole }) {
  const { text } = useWords()
  const providers = useProviders(role)
  const [chosen, setChosen] = useState<Provider | null>(null)
  const leaving = useAction(async (provider: Provider) => {
    setChosen(provider)
    const body = { return: here() }
    const path = `/portal/${role}/school/${provider.providerId}`
    leaveFor((await send<{ location: string }>(path, { method: 'POST', body })).location)
  })
  const { problem } = leaving
  const isTooLong = useTooLong() || problem?.fields.includes('return')
  const isDown = problem?.code === 'unavailable' && chosen !== null
  const codes = isOpen(role, 'code')

  if (!codes && providers?.length === 0)
    return (
      <Notice tone="bad">
        <p role="alert">{text.school.closed}</p>
      </Notice>
    )
  if (isTooLong && providers?.length)
    return (
      <Notice tone="plain">
        <p role="alert">
          {text.school.tooLong}{' '}
          {!codes
            ? text.school.tellApplication
            : isOpen(role, 'passkey')
              ? text.school.useCodeOrPasskey
              : text.school.useCode}
        </p>
      </Notice>
    )
  return (
    <>
      {!codes && <p>{text.school.only}</p>}
      {isDown && (
        <Notice tone="bad">
          <p role="alert">
            {text.school.down(chosen.name)} {codes ? text.school.useCode : text.school.later}
          </p>
        </Notice>
      )}
      {problem && !isDown && <ProblemNotice problem={problem} />}
      {providers?.map((provider) => (
        <div key={provider.providerId} className="actions named">
          <Button look={codes ? 'plain' : 'main'} busy={leaving.busy} onPress={() => leaving.run(provider)}>
            {text.school.signIn(provider.name)}
          </Button>
        </div>
      ))}
    </>
  )
}

/** The place that the reader wanted, without a step of a sign-in. */
function here(): string {
  const isStep = /^#\/(code|register|school-refused.*)?$/.test(location.hash)
  return `${location.pathname}${location.search}${isStep ? '' : location.hash}`
}

/** Where the browser lacks compression, the service says it after the click. */
function useTooLong(): boolean {
  const [tooLong, setTooLong] = useState(false)
  useEffect(() => {
    isTooLong(here()).then(setTooLong, () => setTooLong(false))
  }, [])
  return tooLong
}

async function isTooLong(path: string): Promise<boolean> {
  if (path.length > returnLengthMax) return true
  const deflated = new Blob([path]).stream().pipeThrough(new CompressionStream('deflate'))
  return (await new Response(deflated).arrayBuffer()).byteLength > returnBytesMax
}
