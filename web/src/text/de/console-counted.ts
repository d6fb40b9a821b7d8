/** `shown` is the number as it is written in the language. */
export const counted = (n: number, shown: string, one: string, more: string) =>
  `${shown} ${n === 1 ? one : more}`

/** For a number of which only its written form is known. */
export const some = (shown: string | undefined, one: string, more: string) =>
  `${shown} ${shown === '1' ? one : more}`

export const would = (shown: string | undefined) => (shown === '1' ? 'würde' : 'würden')
