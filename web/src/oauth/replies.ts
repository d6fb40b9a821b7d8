/** What the service answers when an application asks to sign the reader in. */
import type { Static } from 'typebox'
import type { AuthorizeReply } from '../../../src/identity/oauth/authorize-schemas.ts'

export type Reply = Static<typeof AuthorizeReply>
/** What has to happen before the reader can go on to the application. */
export type Need = Exclude<Reply, { location: string }>
