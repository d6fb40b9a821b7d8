/** The orders in which staff can read people; with "-", backwards. */
export const sorts = ['name', '-name', 'created', '-created', 'updated', '-updated'] as const
export type Sort = (typeof sorts)[number]
