/** The service words findings in English. */
export const text: Readonly<Record<string, string>> = {}
