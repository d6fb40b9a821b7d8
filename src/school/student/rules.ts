/** What a student may add. */
export const feedsMax = 5

/**
 * Where a new feed belongs: the student's address. `gone`: the roster of the caller's token has been pruned. Feeds of a
 * former address do not count.
 */
export function placeForFeed(
  student: { readonly email_key: string } | undefined,
  feeds: readonly { readonly email_key: string }[],
): { readonly addressKey: string } | 'gone' | 'full' {
  if (!student) return 'gone'
  const { email_key: addressKey } = student
  const isFull = feeds.filter(({ email_key }) => email_key === addressKey).length >= feedsMax
  return isFull ? 'full' : { addressKey }
}
