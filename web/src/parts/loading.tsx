import { useEffect, useState } from 'react'
import type { Resource } from '../resource.ts'
import { useWords } from '../text/text.ts'
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

/** Shown in place of a resource that is not loaded, or above one that could not be read again. */
export function Reading({ of }: { of: Pick<Resource<unknown>, 'data' | 'problem' | 'reload'> }) {
  const { text } = useWords()
  if (of.problem)
    return (
      <>
        {of.data !== undefined && <Notice tone="plain">{text.stale}</Notice>}
        <ProblemNotice problem={of.problem} onRetry={of.reload} />
      </>
    )
  return of.data === undefined ? <Loading /> : null
}
