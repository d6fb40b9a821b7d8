import type { SessionAndPerson, SessionRow } from './store.ts'

/** Whether a session goes on, apart from its owner's account. */
export const isAlive = (session: Pick<SessionRow, 'ended_at' | 'expires_at'> | undefined, now: number) =>
  session !== undefined && session.ended_at === null && session.expires_at > now

export const isLive = (session: SessionAndPerson, now: number) =>
  isAlive(session, now) && session.status === 'active'
