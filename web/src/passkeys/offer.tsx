import { useEffect, useState } from 'react'
import { recall, remember } from '../device.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { ProblemNotice } from '../parts/notice.tsx'
import { cameByCode } from '../session.ts'
import { isShared } from '../shared-computer.ts'
import { useWords } from '../text/text.ts'
import { addPasskey } from './add.ts'
import { canUsePasskeys, NoPasskey } from './webauthn.ts'

/** After a sign-in with a code, once on a device: next time without a code. */
export function PasskeyOffer() {
  const { text } = useWords()
  const [state, setState] = useState<'hidden' | 'shown' | 'added'>('hidden')
  const adding = useAction(async () => {
    try {
      await addPasskey()
      setState('added')
    } catch (error) {
      if (!(error instanceof NoPasskey)) throw error
      setState('hidden')
    }
  })

  useEffect(() => {
    if (!cameByCode() || !canUsePasskeys() || isShared() || recall('passkey-offered') !== null) return
    let isGone = false
    PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable().then(
      (available) => {
        if (isGone || !available) return
        remember('passkey-offered', '1')
        setState('shown')
      },
      () => {},
    )
    return () => {
      isGone = true
    }
  }, [])

  if (state === 'hidden') return null
  return (
    <aside className="page passkey-offer" aria-label={text.passkeys.offer}>
      {state === 'added' ? (
        <p role="status" className="notice good">
          {text.passkeys.offerDone}
        </p>
      ) : (
        <div className="notice plain">
          <h2>{text.passkeys.offer}</h2>
          <p>{text.passkeys.offerLead}</p>
          {adding.problem && <ProblemNotice problem={adding.problem} />}
          <div className="actions">
            <Button look="main" busy={adding.busy} onPress={adding.run}>
              {text.passkeys.add}
            </Button>
            <Button look="quiet" onPress={() => setState('hidden')}>
              {text.passkeys.notNow}
            </Button>
          </div>
        </div>
      )}
    </aside>
  )
}
