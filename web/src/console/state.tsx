/** States that differ by shape and word, not by colour alone. */
export type State = 'good' | 'warning' | 'bad' | 'empty'

const shapes: Record<State, string> = {
  good: 'M4 10.5l4 4 8-9',
  warning: 'M10 3.5l8 13.5H2zM10 8.5v4M10 14.6v.4',
  bad: 'M5 5l10 10M15 5L5 15',
  empty: 'M5 10h10',
}

export function StateMark({ state, word }: { state: State; word: string }) {
  return (
    <span className={`state ${state}`}>
      <svg viewBox="0 0 20 20" aria-hidden="true">
        <path d={shapes[state]} />
      </svg>
      {word}
    </span>
  )
}
