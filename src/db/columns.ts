/**
 * What each column holds. Closing an account erases by this list. test/columns.test.ts uses it to find data that an
 * export omits, data that closing leaves behind, and columns missing here.
 */

export interface Personal {
  /** What closing an account does: set it to null or to an empty text, delete its row, or the reason to keep it. */
  readonly closing: 'null' | 'empty' | 'row' | Because
  /** Where the owner's export shows it, or the reason why not. */
  readonly export: string | Because
}

interface Because {
  readonly because: string
}

export type Column = 'id' | 'time' | 'fingerprint' | 'secret' | 'other' | Personal

const shown = (closing: Personal['closing'], where: string) => ({ closing, export: where })
const hidden = (closing: Personal['closing'], because: string) => ({ closing, export: { because } })

const ofRoster = { because: 'the roster is the school’s, and students do not close their accounts' }
const lowerCased = 'the address that is shown, lower-cased'
const uploaded = hidden(
  { because: 'it goes a day after it was uploaded, or when it is imported' },
  'what is imported of it is shown as profile and classes',
)
const applied = 'a moment later it is part of the account, or gone'

export const columns = {
  person: {
    id: 'id',
    role: 'other',
    status: 'other',
    email: shown('null', 'profile.email'),
    email_key: hidden('null', lowerCased),
    firstname: shown('null', 'profile.firstname'),
    lastname: shown('null', 'profile.lastname'),
    created_at: 'time',
    updated_at: 'time',
    confirm_before: hidden('null', 'who can ask for an export has confirmed'),
    confirmed_at: hidden('null', 'shown as profile.confirmed'),
    verified_at: hidden('null', 'shown as profile.verified'),
    activated_at: 'time',
    closed_at: 'time',
    may: 'other',
  },
  registration: {
    id: 'id',
    email: hidden('row', applied),
    email_key: hidden('row', applied),
    firstname: hidden('row', applied),
    lastname: hidden('row', applied),
    created_at: 'time',
    confirm_before: 'time',
    request_id: 'id',
    network_fingerprint: 'fingerprint',
  },
  challenge: {
    id: 'id',
    role: 'other',
    address_fingerprint: 'fingerprint',
    inbox_fingerprint: 'fingerprint',
    network_fingerprint: 'fingerprint',
    device_id: 'id',
    digits: 'other',
    reference: 'other',
    created_at: 'time',
    expires_at: 'time',
    resend_at: 'time',
    resends: 'other',
    attempts: 'other',
    send_id: 'id',
    used_at: 'time',
    used_by: 'fingerprint',
    person_id: 'id',
    email: hidden('row', 'it goes an hour after its code'),
  },
  session: {
    id: 'id',
    role: 'other',
    person_id: 'id',
    device: shown('empty', 'sessions.device'),
    started_at: 'time',
    last_seen_at: 'time',
    expires_at: 'time',
    refresh_seq: 'other',
    refresh_parent: 'other',
    refresh_grandparent: 'other',
    rotated_at: 'time',
    rotated_before_at: 'time',
    ended_at: 'time',
    end_reason: 'other',
  },
  event: {
    id: 'id',
    at: 'time',
    type: 'other',
    person_id: 'id',
    session_id: 'id',
    data: 'other',
    generation: 'other',
    number: 'other',
    actor: 'id',
    request_id: 'id',
    network_fingerprint: 'fingerprint',
  },
  event_counter: { one: 'other', last: 'other' },
  note: { event_id: 'id', person_id: 'id', text: shown('row', 'events.note') },
  outbox: {
    id: 'id',
    session_id: 'id',
    role: 'other',
    email: hidden('row', 'it goes when the mail has gone'),
    address_fingerprint: 'fingerprint',
    language: 'other',
    digits: 'other',
    reference: 'other',
    kind: 'other',
    created_at: 'time',
    expires_at: 'time',
    attempts: 'other',
    next_at: 'time',
    claimed_by: 'id',
    sent_at: 'time',
  },
  delivery: {
    id: 'id',
    session_id: 'id',
    role: 'other',
    kind: 'other',
    address_fingerprint: 'fingerprint',
    domain: shown('row', 'deliveries.domain'),
    person_id: 'id',
    state: 'other',
    created_at: 'time',
    updated_at: 'time',
    bounced_at: 'time',
    steps: hidden('row', 'shown as deliveries.steps'),
  },
  notice: { inbox_fingerprint: 'fingerprint', sent_at: 'time' },
  notice_budget: { key: 'fingerprint', full_at: 'time', mark: 'id' },
  bucket: { key: 'fingerprint', full_at: 'time', mark: 'id' },
  quota: { key: 'fingerprint', times: 'time', taken_at: 'time', mark: 'id' },
  failure: { key: 'fingerprint', minute: 'time', count: 'other' },
  known_network: { inbox_fingerprint: 'fingerprint', network_fingerprint: 'fingerprint', seen_at: 'time' },
  signing_key: {
    kid: 'id',
    number: 'other',
    sealed: 'secret',
    public_jwk: 'other',
    created_at: 'time',
    signs_from: 'time',
  },
  lease: { name: 'other', held_by: 'id', held_until: 'time' },
  backup: { id: 'id', kind: 'other', began_at: 'time', finished_at: 'time', program: 'other' },
  webhook: {
    id: 'id',
    url: 'other',
    events: 'other',
    sealed: 'secret',
    sealed_before: 'secret',
    sealed_before_until: 'time',
    after_number: 'other',
    created_at: 'time',
    disabled_at: 'time',
    disabled_because: 'other',
    failures: 'other',
  },
  webhook_queue: { one: 'other', queued_to: 'other' },
  webhook_delivery: {
    webhook_id: 'id',
    number: 'other',
    line: 'id',
    attempts: 'other',
    tried_at: 'time',
    status: 'other',
    error: 'other',
    ended_at: 'time',
    outcome: 'other',
  },
  webhook_line: { webhook_id: 'id', line: 'id', next_at: 'time', claimed_by: 'id' },
  migration: { version: 'other', name: 'other', applied_at: 'time' },
  roster_generation: {
    id: 'id',
    kind: 'other',
    parent: 'id',
    content: 'id',
    file_name: 'other',
    sha256: 'other',
    version: 'other',
    rows: 'other',
    summary: 'other',
    started_at: 'time',
    published_at: 'time',
    actor: 'id',
    allowed: 'other',
    newest_row_at: 'time',
  },
  roster_correction: {
    person_id: 'id',
    from_gen: 'id',
    to_gen: 'id',
    email: hidden(ofRoster, 'profile.email shows it'),
    firstname: hidden(ofRoster, 'profile.firstname shows it'),
    lastname: hidden(ofRoster, 'profile.lastname shows it'),
    actor: 'id',
    corrected_at: 'time',
  },
  roster_state: {
    one: 'other',
    content: 'id',
    generation: 'id',
    last_generation: 'id',
    held_by: 'id',
    held_until: 'time',
    writer: 'id',
  },
  roster_record: {
    kind: 'other',
    sourced_id: 'id',
    from_gen: 'id',
    to_gen: 'id',
    digest: 'other',
    data: hidden(ofRoster, 'profile and classes are made of it'),
    document: hidden(ofRoster, 'classes are made of it'),
    updated_at: 'time',
  },
  roster_enrolment: {
    sourced_id: 'id',
    from_gen: 'id',
    to_gen: 'id',
    user_id: 'id',
    class_id: 'id',
    school_id: 'id',
    role: 'other',
    is_primary: 'other',
    start_date: shown(ofRoster, 'classes.enrolment.startDate'),
    end_date: shown(ofRoster, 'classes.enrolment.endDate'),
  },
  roster_plan: {
    id: 'id',
    person_id: 'id',
    created_at: 'time',
    expires_at: 'time',
    file_name: 'other',
    options: 'other',
    state: 'other',
    content: 'id',
    generation: 'id',
    sha256: 'other',
    summary: 'other',
    findings: uploaded,
    claimed_by: 'id',
    busy_until: 'time',
    done: 'other',
    total: 'other',
    failure: 'other',
    imported_as: 'id',
  },
  roster_plan_part: { plan_id: 'id', number: 'other', base64: uploaded },
  roster_plan_change: { plan_id: 'id', place: 'other', page: 'other', changes: uploaded },
  roster_departure: { generation: 'id', person_id: 'id' },
  student_identity: { sourced_id: 'id', person_id: 'id', generation: 'id', matched_from: 'id' },
  student: {
    person_id: 'id',
    from_gen: 'id',
    to_gen: 'id',
    sourced_id: 'id',
    digest: 'other',
    email: shown(ofRoster, 'profile.email'),
    email_key: hidden(ofRoster, lowerCased),
    firstname: shown(ofRoster, 'profile.firstname'),
    lastname: shown(ofRoster, 'profile.lastname'),
    preferred_name: shown(ofRoster, 'profile.preferredName'),
    pronouns: shown(ofRoster, 'profile.pronouns'),
    student_number: shown(ofRoster, 'profile.studentNumber'),
    year: shown(ofRoster, 'profile.year'),
    school_id: shown(ofRoster, 'profile.school.schoolId'),
    school_name: shown(ofRoster, 'profile.school.name'),
    updated_at: 'time',
  },
  calendar_feed: {
    id: 'id',
    person_id: 'id',
    name: shown(ofRoster, 'calendarFeeds.name'),
    token_hash: 'fingerprint',
    created_at: 'time',
    email_key: hidden(ofRoster, lowerCased),
    last_read_at: 'time',
  },
} as const satisfies Record<string, Record<string, Column>>

export type Table = keyof typeof columns

export const isPersonal = (column: Column): column is Personal => typeof column === 'object'

const emptyValue = { null: 'null', empty: "''" } as const

export function erasing(table: Table): string {
  return Object.entries<Column>(columns[table])
    .flatMap(([name, column]) => {
      const closing = isPersonal(column) ? column.closing : undefined
      return closing === 'null' || closing === 'empty' ? [`${name} = ${emptyValue[closing]}`] : []
    })
    .join(', ')
}
