import { useId } from 'react'
import { shareComputer } from '../device.ts'
import { useShared } from '../shared-computer.ts'
import { useWords } from '../text/text.ts'

export function SharedChoice() {
  const { text } = useWords()
  const shared = useShared()
  const id = useId()
  return (
    <div className="shared">
      <label className="check">
        <input
          type="checkbox"
          name="shared"
          checked={shared}
          aria-describedby={id}
          onChange={(event) => shareComputer(event.currentTarget.checked)}
        />
        <span>{text.signIn.shared}</span>
      </label>
      <p className="hint" id={id}>
        {text.signIn.sharedHint}
      </p>
    </div>
  )
}
