/** Faults that no test can notice, or that do no harm, by the line they are in. */
export const explained: readonly { readonly file: string; readonly line: string; readonly why: string }[] = [
  {
    file: 'src/session/keys.ts',
    line: 'if (gone.length > 0) {',
    why: 'Where no key is to be dropped, none is.',
  },
  {
    file: 'src/limits/store.ts',
    line: 'where key in ($1, $4) and full_at > $5',
    why: 'A bucket that is full at this very moment is full all the same if it was earlier.',
  },
  {
    file: 'src/session/session.ts',
    line: 'if (now - session.last_seen_at < seenEveryMs) return',
    why: 'Whether the last use is saved after a minute or a minute and a millisecond makes no difference.',
  },
]
