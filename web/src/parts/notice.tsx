import { type ReactNode, useEffect } from 'react'
import { minutesAndSeconds, useSecondsUntil } from '../clock.ts'
import type { Problem } from '../http.ts'
import { useWords } from '../text/text.ts'
import { Button } from './button.tsx'

export function Notice({ tone, children }: { tone: 'good' | 'bad' | 'plain'; children: ReactNode }) {
  return <div className={`notice ${tone}`}>{children}</div>
}

/** Says what went wrong and when to continue, and offers to try again. */
export function ProblemNotice({ problem, onRetry }: { problem: Problem; onRetry?: () => void }) {
  const { text } = useWords()
  const wait = useSecondsUntil(problem.retryAt)
  const unreachable = problem.code === 'unreachable'
  useEffect(() => {
    if (!onRetry || !unreachable) return
    addEventListener('online', onRetry)
    return () => removeEventListener('online', onRetry)
  }, [onRetry, unreachable])
  return (
    <Notice tone="bad">
      <p role="alert">{text.problems[problem.code] ?? text.problems['internal-error']}</p>
      {wait > 0 && <p>{text.retryIn(minutesAndSeconds(wait))}</p>}
      {problem.code === 'internal-error' && problem.instance && (
        <p className="small">{text.instance(problem.instance)}</p>
      )}
      {onRetry && (
        <Button waits={wait > 0} onPress={onRetry}>
          {text.retry}
        </Button>
      )}
    </Notice>
  )
}
