/** Which plans are kept. */
import type { OwnPlan, PlanRow } from './store.ts'

const plansPerPerson = 5

/** A plan that is being imported is needed until that is done. */
export const canDrop = ({ state }: OwnPlan) => state !== 'applying'

/** The oldest plans of somebody who makes another one. */
export function surplusOf(plans: readonly OwnPlan[]): string[] {
  const newestFirst = plans
    .filter(canDrop)
    .sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1))
  return newestFirst.slice(plansPerPerson - 1).map(({ id }) => id)
}

/** Not while it is made, and no longer once it is imported. */
export const keepsChanges = ({ state, summary }: Pick<PlanRow, 'state' | 'summary'>) =>
  summary !== null && state !== 'refused' && state !== 'applied'
