/** Faults that no test can notice, or that do no harm, by the line they are in and, if others in it may do harm, by what they put there. */
export const explained: readonly {
  readonly file: string
  readonly line: string
  readonly to?: string
  readonly why: string
}[] = [
  {
    file: 'src/identity/session/keys.ts',
    line: 'if (gone.length > 0) {',
    why: 'If no key is due for deletion, none is deleted.',
  },
  {
    file: 'src/platform/db/limits.ts',
    line: 'where key = $2 and full_at > $3',
    why: 'A bucket that becomes full at this very millisecond counts as full either way.',
  },
  {
    file: 'src/identity/session/session.ts',
    line: 'if (now - session.last_seen_at < seenEveryMs) return',
    to: '<=',
    why: 'Whether the last use is saved after a minute or a minute and a millisecond makes no difference.',
  },
  {
    file: 'src/identity/session/keys.ts',
    line: 'this.#loadedAt = this.#clock.now()',
    why: 'The keys are then read from the store more often than they need to be.',
  },
  {
    file: 'src/identity/sign-in/sign-in.ts',
    line: 'outbox.wake()',
    why: 'The mail leaves within a second anyway: the outbox looks once a second.',
  },
  {
    file: 'src/identity/sign-in/sign-in.ts',
    line: "const id = isId(sessionId) ? sessionId : ''",
    why: 'No challenge has an id of another form, so none is found either way.',
  },
  {
    file: 'src/messages/mail/outbox.ts',
    line: 'this.#worker.wake()',
    why: 'The mails leave within a second anyway: the outbox looks once a second.',
  },
  {
    file: 'src/messages/mail/outbox.ts',
    line: 'this.#backlog = ',
    why: 'It decides whether the next mails are claimed at once or a moment later.',
  },
  {
    file: 'src/messages/mail/store.ts',
    line: 'where inbox_fingerprint = $1 and sent_at > $2',
    why: 'It matters only for a notice that is a day old to the millisecond, and decides which reason is recorded.',
  },
  {
    file: 'src/identity/limits/limits.ts',
    line: 'if (!this.#enabled) return []',
    why: 'With limits off, nobody reads what is then written for them.',
  },
  {
    file: 'src/identity/session/keys.ts',
    line: 'if (now - this.#loadedAt < olderThanMs) return',
    why: 'The keys are then read from the store more often than they need to be.',
  },
  {
    file: 'src/identity/session/keys.ts',
    line: 'now - signer.signsFrom > this.#tokenTtlMs + minute',
    why: 'Whether a key goes a minute or a minute and a millisecond after its last token makes no difference.',
  },
  {
    file: 'src/identity/session/session.ts',
    line: 'if (claims) this.#verified.set(token, claims)',
    why: 'The signature of a token is then checked at every request instead of once.',
  },
  {
    file: 'src/identity/session/session.ts',
    line: 'if (!known || known.exp * 1000 > now) return known',
    to: '/',
    why: 'The signature of a token is then checked at every request instead of once.',
  },
  {
    file: 'src/identity/session/session.ts',
    line: 'if (rotated) return this.#tokens({ ...session, ...rotated }, rotated.refresh_seq)',
    to: 'false',
    why: 'The session is then read again, and its tokens are the same.',
  },
  {
    file: 'src/platform/http/refusals.ts',
    line: 'now - known.since < withinMs',
    to: '<=',
    why: 'Whether refusals are counted for ten minutes or a millisecond longer makes no difference.',
  },
  {
    file: 'src/messages/mail/outbox.ts',
    line: 'else if (this.#sending.size <= concurrency / 2) {',
    to: 'true',
    why: 'With a backlog, the next mails are then claimed one at a time instead of several.',
  },
  {
    file: 'src/identity/session/session.ts',
    line: 'if (now - session.last_seen_at < seenEveryMs) return',
    to: '+',
    why: 'The store is then asked at every request, and still saves the last use once a minute.',
  },
  {
    file: 'src/identity/session/keys.ts',
    line: 'if (this.#secrets.all.length === 1) return',
    to: 'false',
    why: 'Without a previous secret, nothing is sealed under it.',
  },
  {
    file: 'src/messages/mail/outbox.ts',
    line: 'if (!this.#backlog) this.wake()',
    why: 'It decides whether the next mails are claimed at once or a moment later.',
  },
  {
    file: 'src/messages/mail/outbox.ts',
    line: 'await this.#deps.transport.close()',
    why: 'Idle connections are closed after five seconds anyway.',
  },
  {
    file: 'src/identity/session/keys.ts',
    line: 'if (known) return known',
    to: 'false',
    why: 'A key that is already in memory is then decrypted again.',
  },
]
