import type { ReactNode } from 'react'
import { useWords } from '../text/text.ts'
import constellation from './constellation.svg'

/** The sign-in screens. Wide windows show the constellation beside the form. */
export function Entry({ first, children }: { first: boolean; children: ReactNode }) {
  const { text } = useWords()
  return (
    <div className={first ? 'entry first' : 'entry'}>
      <aside className="sky">
        <img src={constellation} alt="" width="400" height="400" />
        <p>{text.signIn.motto}</p>
      </aside>
      {children}
    </div>
  )
}
