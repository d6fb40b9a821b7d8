/** What clients can be and ask for. The console imports this file, so it must not use Node. */

/** A server, a page in a browser, an app on a device, or a program without people. */
export const clientKinds = ['web', 'spa', 'native', 'service'] as const
export type ClientKind = (typeof clientKinds)[number]

/** Whether people are asked before they are signed in at the client. */
export const consents = ['never', 'once'] as const
export type Consent = (typeof consents)[number]

/** For clients with people. */
export const personScopes = ['openid', 'profile', 'email', 'classes', 'account', 'offline_access'] as const
export const serviceScopes = ['roster.read', 'events.read'] as const
export type Scope = (typeof personScopes)[number] | (typeof serviceScopes)[number]

/** They open something here, not only at the client. */
export const scopesHere: readonly Scope[] = ['classes', 'account', ...serviceScopes]

export const hasSecret = (kind: ClientKind) => kind === 'web' || kind === 'service'
