/**
 * Which rows of the roster a generation shows: those written by then (`from_gen`) and not yet replaced or removed
 * (`to_gen`). `t` is the alias of a table; a generation is a parameter or an expression.
 */

/** The generation that readers see now. */
export const current = '(select content from roster_state)'

export const writtenBy = (t: string, generation: string) => `${t}.from_gen <= ${generation}`
export const writtenAfter = (t: string, generation: string) => `${t}.from_gen > ${generation}`
export const closedBy = (t: string, generation: string) => `${t}.to_gen <= ${generation}`
export const closedAfter = (t: string, generation: string) => `${t}.to_gen > ${generation}`

export const inGeneration = (t: string, generation: string) =>
  `${writtenBy(t, generation)} and (${t}.to_gen is null or ${closedAfter(t, generation)})`
export const inRoster = (t: string) => inGeneration(t, current)

/** The same as `inGeneration` as long as no row was closed later. Only rows that are not closed have an index of their own. */
export const unclosedIn = (t: string, generation: string) =>
  `${writtenBy(t, generation)} and ${t}.to_gen is null`

export const onlyIn = (t: string, generation: string, other: string) =>
  `${inGeneration(t, generation)} and not (${inGeneration(t, other)})`
/** In the later of two generations of one line, and not in the earlier. */
export const addedBetween = (t: string, earlier: string, later: string) =>
  `${writtenAfter(t, earlier)} and ${inGeneration(t, later)}`
/** In the earlier of two generations of one line, and not in the later. */
export const closedBetween = (t: string, earlier: string, later: string) =>
  `${writtenBy(t, earlier)} and ${closedAfter(t, earlier)} and ${closedBy(t, later)}`

/** "+ 0" keeps SQLite from the indexes of generations, so that it reads by another. */
export const byOtherIndex = (condition: string) => condition.replaceAll('.from_gen', '.from_gen + 0')
