/**
 * How the rows of each table are made for bench/sizes.ts. A table that is missing here does not compile.
 *
 *   'few'        not measured: a handful of rows, however many people there are
 *   'school'     filled by a roster import
 *   'people'     filled by people who register and sign in
 *   { … }        written directly: the values of columns whose kind (src/columns.ts) does not say what they look like
 */
import { randomBytes } from 'node:crypto'
import type { columns } from '../src/columns.ts'
import type { Value } from '../src/platform/db/db.ts'

export type Filled = 'school' | 'people'
export type Sample = Readonly<Record<string, Value | (() => Value)>>

const random = (bytes: number) => () => randomBytes(bytes).toString('base64url')
const email = () => `ada.marsh.${randomBytes(3).toString('hex')}@students.example.org`
const names = { firstname: 'Adelaide', lastname: 'Marsh-Olsen' }
const nameKeys = { firstname_key: 'adelaide', lastname_key: 'marsh-olsen' }
const scope = 'openid profile email classes'

export const tables: Readonly<Record<keyof typeof columns, 'few' | readonly Filled[] | Sample>> = {
  person: ['people', 'school'],
  event: ['people', 'school'],
  session: ['people'],
  challenge: ['people'],
  delivery: ['people'],
  known_network: ['people'],
  quota: ['people'],
  student: ['school'],
  student_identity: ['school'],
  roster_record: ['school'],
  roster_enrolment: ['school'],

  registration: { email, email_key: email, ...names },
  outbox: {
    ...{ role: 'student', email, language: 'en', digits: 6, reference: 'BCD' },
    ...{ kind: null, sent_at: null, report: null },
  },
  notice: {},
  notice_budget: {},
  note: { text: 'Came to the office with a passport.' },
  bucket: { key: () => `sign-in:${random(16)()}` },
  failure: {},

  passkey: {
    ...{ email_key: email, credential_id: random(32), public_key: random(77), user_handle: random(32) },
    ...{ rp_id: 'access.example.org', aaguid: '00000000-0000-0000-0000-000000000000' },
    ...{ transports: '["internal","hybrid"]', name: 'Firefox on Android' },
  },
  passkey_challenge: {},
  consent: { scope },
  authorization_code: {
    ...{ redirect_uri: 'https://learning.example.org/oauth/callback', scope, language: 'en' },
    ...{ code_challenge: random(32), nonce: random(16) },
  },
  authorization_ask: {},
  service_token: { scope: 'roster.read' },
  logout_call: {
    ...{ uri: 'https://learning.example.org/oauth/backchannel-logout', subject_salt: null },
    ...{ status: 200, error: null, outcome: 'delivered' },
  },
  school_link: { role: 'student', subject: random(32), email_key: email, student_number: '20260001' },
  school_session: { subject: random(32), sid: random(16) },
  school_refusal: 'few',

  calendar_feed: { name: 'Phone', email_key: email },
  student_card: {},
  teacher_link: { email_key: email },
  disabled_student: {
    ...{ email, email_key: email, ...names, ...nameKeys },
    ...{ student_number: '20260001', year: 3, digest: random(16) },
  },
  roster_departure: {},
  roster_correction: { email, ...names },

  webhook_delivery: { status: 200, error: null, outcome: 'delivered' },
  webhook_line: {},

  // They grow with time, by a row for each import or backup, or stay as they are.
  roster_generation: 'few',
  roster_state: 'few',
  roster_fetch: 'few',
  backup: 'few',
  signing_key: 'few',
  rsa_signing_key: 'few',
  event_counter: 'few',
  webhook_queue: 'few',
  lease: 'few',
  migration: 'few',
  write_probe: 'few',
  // Entered by staff.
  client: 'few',
  provider: 'few',
  webhook: 'few',
  // For a day, as large as the uploaded files.
  roster_plan: 'few',
  roster_plan_part: 'few',
  roster_plan_change: 'few',
}
