/** Faults that no test can notice, or that do no harm, by the line they are in. */
export const explained: readonly { readonly file: string; readonly line: string; readonly why: string }[] = []
