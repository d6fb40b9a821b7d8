import { useEffect, useState } from 'react'
import { useOnline, useReadAgain } from '../online.ts'
import type { Resource } from '../resource.ts'
import { useWords } from '../text/text.ts'
import { Button } from './button.tsx'
import { Notice, ProblemNotice } from './notice.tsx'

const patienceMs = 300

/** Says nothing at first: a fast reply needs no announcement. */
export function Loading() {
  const { text } = useWords()
  const [long, setLong] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), patienceMs)
    return () => clearTimeout(timer)
  }, [])
  return (
    <p className="loading" role="status">
      {long && text.loading}
    </p>
  )
}

/**
 * Shown in place of a resource that is not loaded, or above one that could not be read again. Without a network the
 * frame says so for the whole page, and one message is enough.
 */
export function Reading({ of }: { of: Omit<Resource<unknown>, 'replace'> }) {
  const { text, dates } = useWords()
  const online = useOnline()
  const { data, problem, readAt, reload } = of
  useReadAgain(problem, reload)
  if (!problem) return data === undefined ? <Loading /> : null
  if (data === undefined) return <ProblemNotice problem={problem} onRetry={reload} />
  const stale = readAt === null ? text.stale : text.staleSince(dates.recent(readAt))
  if (!online) return <p className="soft">{stale}</p>
  return (
    <Notice tone="plain">
      <p role="status">{stale}</p>
      <Button onPress={reload}>{text.retry}</Button>
    </Notice>
  )
}
