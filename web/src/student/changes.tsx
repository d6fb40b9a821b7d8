import { useState } from 'react'
import { recall, remember } from '../device.ts'
import { Button } from '../parts/button.tsx'
import type { Class, Student } from '../people.ts'
import { useWords } from '../text/text.ts'
import { classLink, type Placed } from './classes.ts'

/** Ids and times alone: what the classes were is not kept on the device. */
type Seen = Readonly<Record<string, string>>

/** Changes since the reader last confirmed the list on this device. On the first visit nothing is new. */
export function Changes({ user, classes }: { user: Student; classes: readonly Placed[] }) {
  const { text } = useWords()
  const name = `seen.${user.userId}` as const
  const now: Seen = Object.fromEntries(classes.map(({ entry }) => [entry.classId, entry.updatedAt]))
  const [seen, setSeen] = useState(() => parsed(recall(name)))
  const confirm = () => {
    remember(name, JSON.stringify(now))
    setSeen(now)
  }
  if (!seen) {
    remember(name, JSON.stringify(now))
    return null
  }
  const entries = classes.map(({ entry }) => entry)
  const added = entries.filter(({ classId }) => !(classId in seen))
  const changed = entries.filter(({ classId, updatedAt }) => classId in seen && seen[classId] !== updatedAt)
  const gone = Object.keys(seen).filter((classId) => !(classId in now)).length
  if (added.length + changed.length + gone === 0) return null
  const lines: [string, readonly Class[]][] = [
    [text.student.changes.added, added],
    [text.student.changes.changed, changed],
  ]
  return (
    <section className="changes notice good print-none" aria-labelledby="changes">
      <h2 id="changes">{text.student.changes.title}</h2>
      <ul>
        {lines.flatMap(([what, list]) =>
          list.map((entry) => (
            <li key={entry.classId}>
              {what} <a href={classLink(entry)}>{entry.title}</a>
            </li>
          )),
        )}
        {gone > 0 && <li>{text.student.changes.gone(gone)}</li>}
      </ul>
      <Button
        onPress={() => {
          confirm()
          document.querySelector<HTMLElement>('h1')?.focus()
        }}
      >
        {text.student.changes.seen}
      </Button>
    </section>
  )
}

function parsed(text: string | null): Seen | null {
  try {
    return text === null ? null : JSON.parse(text)
  } catch {
    return null
  }
}
