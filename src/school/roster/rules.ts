/** When a roster may become the current one. */
import type { LockedState, Seen } from './store/state.ts'

/** Whether the roster is still the one that a plan was made against. */
export const isAsSeen = (state: Seen, seen: Seen) =>
  state.content === seen.content && state.generation === seen.generation

/** The rows of a generation that was folded into a later one are gone. */
export const canPublish = (state: LockedState, seen: Seen, content: number) =>
  isAsSeen(state, seen) && state.folded <= content
