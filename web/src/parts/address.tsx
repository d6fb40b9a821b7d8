import { Fragment, type ReactNode } from 'react'

/** An address that breaks after @ and dots, not within a word; `children` puts it into a sentence. */
export function Address({ of, children }: { of: string; children?: (mark: string) => string }) {
  const parts = of.split(/(?<=[@.])/)
  const breakable: ReactNode = (
    <bdi className="address">
      {parts.map((part, index) => (
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </bdi>
  )
  if (!children) return breakable
  const [before, after] = children('\0').split('\0')
  return (
    <>
      {before}
      {breakable}
      {after}
    </>
  )
}
