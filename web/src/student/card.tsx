import { useEffect, useRef, useState } from 'react'
import { now } from '../clock.ts'
import { Button } from '../parts/button.tsx'
import { Facts } from '../parts/facts.tsx'
import { Reading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import type { Card, Student } from '../people.ts'
import { useResource } from '../resource.ts'
import { ask } from '../session.ts'
import { useWords } from '../text/text.ts'
import { QrCode } from './qr-code.tsx'

const lifeMs = 5 * 60_000
/** Somebody may scan it just before it expires. */
const renewAfterMs = lifeMs - 60_000

const read = (path: string) => ask<Card>(path)

/** Proves a student's status to a clinic: the school's own page behind the QR code confirms it. */
export function StudentCard({ user }: { user: Student }) {
  const { text } = useWords()
  const card = useResource('/student/me/card', read)
  const [large, setLarge] = useState(false)
  const { readAt, reload } = card
  useEffect(() => {
    if (readAt === null) return
    const timer = setTimeout(reload, Math.max(0, readAt + renewAfterMs - now()))
    return () => clearTimeout(timer)
  }, [readAt, reload])
  // A page that slept may show an expired card.
  const valid = card.data && readAt !== null && now() < readAt + lifeMs ? card.data : null

  return (
    <Page title={text.card.title} lead={text.card.lead} narrow>
      <Reading of={{ ...card, data: valid ?? undefined }} />
      {valid && (
        <section className="card student-card" aria-label={text.card.title}>
          <Shown user={user} card={valid} readAt={readAt!} />
          <Button look="main" onPress={() => setLarge(true)}>
            {text.card.large}
          </Button>
        </section>
      )}
      {valid && large && (
        <Large label={text.card.title} onClose={() => setLarge(false)}>
          <Shown user={user} card={valid} readAt={readAt!} />
        </Large>
      )}
      <p className="small soft">{text.card.note}</p>
    </Page>
  )
}

function Shown({ user, card, readAt }: { user: Student; card: Card; readAt: number }) {
  const { text, dates } = useWords()
  return (
    <>
      <figure className="qr">
        <QrCode value={card.url} label={text.card.qr} />
      </figure>
      <p className="who">
        {user.firstname} {user.lastname}
      </p>
      <Facts
        of={[
          [text.card.number, user.studentNumber],
          [text.card.school, user.school?.name],
          [text.card.year, user.year !== null && text.student.year(user.year)],
          [text.card.until, dates.recent(readAt + lifeMs)],
        ]}
      />
    </>
  )
}

/** Fills the screen in white, and keeps it on while it is shown. */
function Large({ label, children, onClose }: { label: string; children: React.ReactNode; onClose(): void }) {
  const { text } = useWords()
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    const lock = navigator.wakeLock?.request('screen').catch(() => null)
    return () => {
      shown?.close()
      lock?.then((held) => held?.release())
    }
  }, [])
  return (
    <dialog ref={dialog} className="bright" aria-label={label} onCancel={onClose}>
      {children}
      <Button onPress={onClose}>{text.card.close}</Button>
    </dialog>
  )
}
