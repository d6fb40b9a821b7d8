import { hidden, shown, type Tables, table } from '../platform/db/columns.ts'
import { personColumns } from './people/columns.ts'

const ofStaffAndStudents = {
  because: 'veterinarians have none; it goes when somebody leaves the staff, or disconnects it',
}
const ofRefused = { because: 'it goes after CHIRON_KEEP_MAIL_DAYS, and veterinarians have none' }
const signingKey = table({
  id: 'kid',
  time: 'created_at signs_from',
  secret: 'sealed',
  other: 'number public_jwk',
})
const applied = 'a moment later it is part of the account, or gone'

export const identityColumns = {
  person: personColumns,
  registration: table(
    { id: 'id request_id', time: 'created_at confirm_before', fingerprint: 'network_fingerprint' },
    {
      email: hidden('row', applied),
      email_key: hidden('row', applied),
      firstname: hidden('row', applied),
      lastname: hidden('row', applied),
    },
  ),
  challenge: table(
    {
      id: 'id device_id send_id answer_mark person_id session_id',
      time: 'created_at expires_at resend_at used_at',
      fingerprint: 'address_fingerprint inbox_fingerprint network_fingerprint used_by',
      other: 'role digits reference resends attempts',
    },
    { email: hidden('row', 'it goes an hour after its code') },
  ),
  session: table(
    {
      id: 'id person_id client_id parent_id started_from',
      time: 'started_at last_seen_at expires_at auth_at rotated_at rotated_before_at ended_at',
      other: 'role method refresh_seq refresh_parent refresh_grandparent end_reason scope language',
    },
    { device: shown('empty', 'sessions.device') },
  ),
  client: table({
    id: 'id',
    time: 'secret_before_until created_at last_used_at disabled_at',
    secret: 'subject_salt secret_digest secret_before',
    other:
      'name kind redirect_uris logout_uris backchannel_uri scopes roles consent pkce claims_in_id_token ' +
      'id_token_alg unverified_veterinarians',
  }),
  consent: table({ id: 'person_id client_id', time: 'given_at', other: 'scope' }),
  authorization_code: table({
    id: 'client_id person_id parent_id session_id',
    time: 'expires_at used_at',
    fingerprint: 'digest code_challenge',
    other: 'redirect_uri scope nonce language',
  }),
  authorization_ask: table({ time: 'asked_at', fingerprint: 'digest' }),
  service_token: table({ id: 'id client_id', time: 'expires_at', other: 'scope' }),
  logout_call: table({
    id: 'session_id client_id person_id claimed_by',
    time: 'next_at created_at tried_at ended_at',
    secret: 'subject_salt',
    other: 'uri id_token_alg attempts status error outcome',
  }),
  passkey: table(
    {
      id: 'id person_id',
      time: 'created_at last_used_at',
      fingerprint: 'user_handle',
      other: 'rp_id sign_count backed_up',
    },
    {
      email_key: hidden('row', 'the address that the account had when it was added'),
      credential_id: hidden('row', 'a random name that means nothing without its device'),
      public_key: hidden('row', 'it only verifies signatures of that device'),
      aaguid: hidden('row', 'shown as passkeys.provider where it is known'),
      transports: hidden('row', 'hints for the browser'),
      name: shown('row', 'passkeys.name'),
    },
  ),
  passkey_challenge: table({ id: 'session_id', time: 'used_at', fingerprint: 'digest used_by' }),
  provider: table({
    id: 'id',
    time: 'created_at disabled_at',
    secret: 'sealed',
    other:
      'name kind issuer client_id roles domains number_claim address_claim trust_addresses tenant ' +
      'hosted_domain',
  }),
  school_link: table(
    { id: 'id provider_id person_id', time: 'created_at last_used_at', other: 'role' },
    {
      subject: hidden(ofStaffAndStudents, 'names the account at the provider, which knows it'),
      email_key: hidden(ofStaffAndStudents, 'the address that the account had at the last sign-in with it'),
      student_number: hidden(ofStaffAndStudents, 'the number that the student had then'),
    },
  ),
  school_session: table(
    { id: 'session_id provider_id' },
    {
      subject: hidden(ofStaffAndStudents, 'it goes with the session'),
      sid: hidden(ofStaffAndStudents, 'it goes with the session'),
    },
  ),
  school_refusal: table(
    { id: 'event_id provider_id', time: 'at', other: 'reference' },
    {
      student_number: hidden(ofRefused, 'what a provider claimed of somebody who was not let in'),
      email: hidden(ofRefused, 'what a provider claimed of somebody who was not let in'),
    },
  ),
  bucket: table({ id: 'mark', time: 'full_at', fingerprint: 'key' }),
  quota: table({ id: 'mark', time: 'times taken_at', fingerprint: 'key' }),
  failure: table({ time: 'minute', fingerprint: 'key', other: 'count' }),
  known_network: table({ time: 'seen_at', fingerprint: 'inbox_fingerprint network_fingerprint' }),
  signing_key: signingKey,
  rsa_signing_key: signingKey,
} satisfies Tables
