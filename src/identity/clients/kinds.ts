/** What clients can be and ask for. The console imports this file, so it must not use Node. */

/** A server, a page in a browser, an app on a device, or a program without people. */
export const clientKinds = ['web', 'spa', 'native', 'service'] as const
export type ClientKind = (typeof clientKinds)[number]

/** Whether people are asked before they are signed in at the client. */
export const consents = ['never', 'once'] as const
export type Consent = (typeof consents)[number]

/** Whether the client knows people by their ids, or by ids that no other client knows. */
export const subjects = ['public', 'pairwise'] as const
export type Subject = (typeof subjects)[number]

/** How the client's ID tokens and logout tokens are signed. */
export const idTokenAlgs = ['ES256', 'RS256'] as const
export type IdTokenAlg = (typeof idTokenAlgs)[number]

/** For clients with people. */
export const personScopes = ['openid', 'profile', 'email', 'classes', 'account', 'offline_access'] as const
export type PersonScope = (typeof personScopes)[number]
export const serviceScopes = ['roster.read', 'events.read'] as const
export type Scope = PersonScope | (typeof serviceScopes)[number]

export const scopesOf = (kind: ClientKind): readonly Scope[] =>
  kind === 'service' ? serviceScopes : personScopes

/** Of a client that is added without any. */
export const defaultScopes = (kind: ClientKind): readonly Scope[] =>
  kind === 'service' ? ['roster.read'] : ['openid', 'profile', 'email']

/** They open something here, not only at the client. */
export const scopesHere: readonly Scope[] = ['classes', 'account', ...serviceScopes]

export const hasSecret = (kind: ClientKind) => kind === 'web' || kind === 'service'
