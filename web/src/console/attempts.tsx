import { useWords } from '../text/text.ts'
import { useConsole } from './text/console-words.ts'

/** How calls to another program have gone so far: the last time, how often, and its last answer. */
export function Attempts({
  of: { attempts, status, error, triedAt },
}: {
  of: { attempts: number; status: number | null; error: string | null; triedAt: string | null }
}) {
  const { dates } = useWords()
  const { text: all, number } = useConsole()
  const text = all.webhooks
  return (
    <span className="soft">
      {triedAt && `${dates.recent(triedAt)} · `}
      {text.attempts(attempts, number(attempts))}
      {status !== null && ` · ${text.answered(status)}`}
      {error && (
        <>
          {' · '}
          <bdi>{error}</bdi>
        </>
      )}
    </span>
  )
}
