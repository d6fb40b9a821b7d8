/**
 * A sealed cookie keeps where a browser goes on to after a sign-in at a provider, and a cookie has up to 4,096 bytes. The
 * portal imports this file, so it must not use Node.
 */
/** As long as the longest request of an application. */
export const returnLengthMax = 8_100
/** Deflated. */
export const returnBytesMax = 2_400
