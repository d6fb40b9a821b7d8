/** French uses the singular for zero. */
export const counted = (n: number, one: string, more: string) => `${n} ${n < 2 ? one : more}`
