/** In French, zero and one are singular. `shown` is the number as it is written in the language. */
export const counted = (n: number, shown: string, one: string, more: string) =>
  `${shown} ${n < 2 ? one : more}`

export const isOne = (shown: string | undefined) => shown === '0' || shown === '1'
/** For a number of which only its written form is known. */
export const some = (shown: string | undefined, one: string, more: string) =>
  `${shown} ${isOne(shown) ? one : more}`
