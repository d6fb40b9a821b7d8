import { useState } from 'react'
import { useAction } from '../../parts/action.ts'
import { ProblemNotice } from '../../parts/notice.tsx'
import { go } from '../../route.ts'
import type { PlanOptions } from '../roster-replies.ts'
import { useConsole } from '../text/console-words.ts'
import { uploadRoster } from './upload.ts'

/** Uploads a file and then shows its plan. */
export function useSending() {
  const [share, setShare] = useState(0)
  const action = useAction(async (file: File, options: Partial<PlanOptions> = {}) => {
    setShare(0)
    const { planId } = await uploadRoster(file, options, setShare)
    go(`#/roster/plans/${encodeURIComponent(planId)}`)
  })
  return { ...action, share }
}

/** Progress of the upload; the plan's own page shows the rest. */
export function Sending({ of: { busy, share, problem } }: { of: ReturnType<typeof useSending> }) {
  const { text: all, percent } = useConsole()
  const text = all.roster
  const words = text.uploading(percent(share))
  return (
    <>
      <div role="status">{busy && <p>{words}</p>}</div>
      {busy && <progress aria-label={words} {...(share < 1 && { value: share })} />}
      {problem && <ProblemNotice problem={problem} />}
    </>
  )
}
