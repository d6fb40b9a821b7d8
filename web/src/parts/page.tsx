import { type ReactNode, useEffect, useRef } from 'react'
import { wasNavigated } from '../route.ts'
import { brand } from '../school.ts'

/** For when the button that had the focus is gone. */
export function focusHeading(): void {
  document.querySelector<HTMLElement>('h1')?.focus()
}

/** A screen. Its title is also the window's, and its heading takes the focus on navigation. */
export function Page({
  title,
  heading = title,
  lead,
  narrow = false,
  children,
}: {
  title: string
  heading?: ReactNode
  lead?: ReactNode
  narrow?: boolean
  children: ReactNode
}) {
  const top = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · ${brand}`
  }, [title])
  useEffect(() => {
    if (!wasNavigated()) return
    scrollTo(0, 0)
    // Leaves the focus to a field that has already taken it.
    if (!document.activeElement?.matches('main input')) top.current?.focus({ preventScroll: true })
  }, [])
  return (
    <main id="content" className={narrow ? 'page narrow' : 'page'}>
      <h1 ref={top} tabIndex={-1}>
        {heading}
      </h1>
      {lead && <p className="lead">{lead}</p>}
      {children}
    </main>
  )
}
