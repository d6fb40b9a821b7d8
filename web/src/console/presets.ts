/** What well-known programs need, and where each of their settings gets its value from. */
import { type ClientKind, defaultScopes } from '../../../src/identity/clients/kinds.ts'

export interface Values {
  readonly issuer: string
  readonly clientId: string
  readonly secret: string | null
  readonly redirectUri: string
}

interface Preset {
  readonly kind: ClientKind
  readonly scopes: readonly string[]
  readonly pkce: boolean
  /** The shape of its redirect URI; null if it has none. */
  readonly redirect: string | null
  /** Names of settings on the other side, as its own documentation has them. */
  paste(values: Values): readonly (readonly [setting: string, value: string | null])[]
}

const metadataOf = (issuer: string) => `${issuer}/.well-known/openid-configuration`

const other: Preset = {
  kind: 'web',
  scopes: defaultScopes('web'),
  pkce: true,
  redirect: 'https://app.example.org/callback',
  paste: ({ issuer, clientId, secret }) => [
    ['issuer', issuer],
    ['metadata', metadataOf(issuer)],
    ['client_id', clientId],
    ['client_secret', secret],
  ],
}

export const presetNames = ['moodle', 'jupyterhub', 'apache', 'spa', 'native', 'service', 'other'] as const
export type PresetName = (typeof presetNames)[number]

/** The name of a product is the same in every language; the others have labels. */
export const products: Readonly<Partial<Record<PresetName, string>>> = {
  moodle: 'Moodle',
  jupyterhub: 'JupyterHub',
}
export type LabelledPreset = Exclude<PresetName, 'moodle' | 'jupyterhub'>

export const presets: Readonly<Record<PresetName, Preset>> = {
  moodle: {
    ...other,
    // Its core sends none.
    pkce: false,
    redirect: 'https://moodle.example.org/admin/oauth2callback.php',
    paste: ({ issuer, clientId, secret }) => [
      ['Client ID', clientId],
      ['Client secret', secret],
      ['Service base URL', issuer],
    ],
  },
  jupyterhub: {
    ...other,
    redirect: 'https://hub.example.org/hub/oauth_callback',
    paste: ({ issuer, clientId, secret, redirectUri }) => [
      ['c.GenericOAuthenticator.client_id', clientId],
      ['c.GenericOAuthenticator.client_secret', secret],
      ['c.GenericOAuthenticator.oauth_callback_url', redirectUri],
      ['c.GenericOAuthenticator.authorize_url', `${issuer}/oauth/authorize`],
      ['c.GenericOAuthenticator.token_url', `${issuer}/oauth/token`],
      ['c.GenericOAuthenticator.userdata_url', `${issuer}/oauth/userinfo`],
      ['c.GenericOAuthenticator.username_claim', 'preferred_username'],
      ['c.GenericOAuthenticator.scope', "['openid', 'profile', 'email']"],
    ],
  },
  apache: {
    ...other,
    redirect: 'https://www.example.org/secure/redirect_uri',
    paste: ({ issuer, clientId, secret, redirectUri }) => [
      ['OIDCProviderMetadataURL', metadataOf(issuer)],
      ['OIDCClientID', clientId],
      ['OIDCClientSecret', secret],
      ['OIDCRedirectURI', redirectUri],
      ['OIDCPKCEMethod', 'S256'],
      ['OIDCScope', '"openid profile email"'],
    ],
  },
  spa: {
    ...other,
    kind: 'spa',
    redirect: 'https://app.example.org/',
    paste: ({ issuer, clientId, redirectUri }) => [
      ['authority', issuer],
      ['client_id', clientId],
      ['redirect_uri', redirectUri],
    ],
  },
  native: { ...other, kind: 'native', redirect: 'org.example.app:/callback' },
  service: {
    ...other,
    kind: 'service',
    scopes: defaultScopes('service'),
    redirect: null,
    paste: ({ issuer, clientId, secret }) => [
      ['token_endpoint', `${issuer}/oauth/token`],
      ['client_id', clientId],
      ['client_secret', secret],
    ],
  },
  other,
}

/** For an application that was added before, of which only the kind is known. */
export const presetOf = (kind: ClientKind): PresetName => (kind === 'web' ? 'other' : kind)
