import { foldedName, hidden, lowerCased, shown, type Tables, table } from '../platform/db/columns.ts'

const ofRoster = { because: 'the roster is the school’s, and students do not close their accounts' }
const ofDisabled = 'whoever is disabled cannot sign in and ask for an export'
const uploaded = hidden(
  { because: 'it goes a day after it was uploaded, or when it is imported' },
  'what is imported of it is shown as profile and classes',
)

export const schoolColumns = {
  roster_generation: table({
    id: 'id parent content actor',
    time: 'started_at published_at newest_row_at',
    other: 'kind file_name sha256 version rows summary allowed',
  }),
  roster_correction: table(
    { id: 'person_id from_gen to_gen actor', time: 'corrected_at' },
    {
      email: hidden(ofRoster, 'profile.email shows it'),
      firstname: hidden(ofRoster, 'profile.firstname shows it'),
      lastname: hidden(ofRoster, 'profile.lastname shows it'),
    },
  ),
  roster_state: table({
    id: 'content generation last_generation folded redo leased_by writer',
    time: 'leased_until checked_at',
    other: 'one',
  }),
  roster_fetch: table({
    time: 'tried_at done_at file_at overdue_told_at',
    other: 'one outcome message source mark sha256 file_name',
  }),
  roster_record: table(
    { id: 'sourced_id from_gen to_gen', time: 'updated_at', other: 'kind digest' },
    {
      data: hidden(ofRoster, 'profile and classes are made of it'),
      document: hidden(ofRoster, 'classes are made of it'),
    },
  ),
  roster_enrolment: table(
    { id: 'sourced_id from_gen to_gen user_id class_id school_id', other: 'role is_primary' },
    {
      start_date: shown(ofRoster, 'classes.enrolment.startDate'),
      end_date: shown(ofRoster, 'classes.enrolment.endDate'),
    },
  ),
  roster_plan: table(
    {
      id: 'id person_id content generation claimed_by imported_as',
      time: 'created_at expires_at busy_until',
      other: 'file_name options state sha256 summary done total failure',
    },
    { findings: uploaded, list: uploaded },
  ),
  roster_plan_part: table({ id: 'plan_id', other: 'number' }, { base64: uploaded }),
  roster_plan_change: table({ id: 'plan_id', other: 'place page' }, { changes: uploaded, keys: uploaded }),
  roster_departure: table({ id: 'generation person_id' }),
  student_identity: table({ id: 'sourced_id person_id generation matched_from' }),
  student: table(
    { id: 'person_id from_gen to_gen sourced_id', time: 'updated_at', other: 'digest' },
    {
      email: shown(ofRoster, 'profile.email'),
      email_key: hidden(ofRoster, lowerCased),
      firstname: shown(ofRoster, 'profile.firstname'),
      firstname_key: hidden(ofRoster, foldedName),
      lastname: shown(ofRoster, 'profile.lastname'),
      lastname_key: hidden(ofRoster, foldedName),
      preferred_name: shown(ofRoster, 'profile.preferredName'),
      pronouns: shown(ofRoster, 'profile.pronouns'),
      student_number: shown(ofRoster, 'profile.studentNumber'),
      year: shown(ofRoster, 'profile.year'),
      school_id: shown(ofRoster, 'profile.school.schoolId'),
      school_name: shown(ofRoster, 'profile.school.name'),
    },
  ),
  disabled_student: table(
    { id: 'person_id from_gen to_gen sourced_id', other: 'digest' },
    {
      email: hidden(ofRoster, ofDisabled),
      email_key: hidden(ofRoster, lowerCased),
      firstname: hidden(ofRoster, ofDisabled),
      firstname_key: hidden(ofRoster, foldedName),
      lastname: hidden(ofRoster, ofDisabled),
      lastname_key: hidden(ofRoster, foldedName),
      student_number: hidden(ofRoster, ofDisabled),
      year: hidden(ofRoster, ofDisabled),
    },
  ),
  calendar_feed: table(
    { id: 'id person_id', time: 'created_at last_read_at', fingerprint: 'token_hash' },
    { name: shown(ofRoster, 'calendarFeeds.name'), email_key: hidden(ofRoster, lowerCased) },
  ),
  student_card: table({ id: 'person_id roster', time: 'expires_at', fingerprint: 'card_hash' }),
  teacher_link: table(
    { id: 'sourced_id person_id', time: 'linked_at' },
    { email_key: hidden('row', 'the roster has it; classes shows what follows from it') },
  ),
} satisfies Tables
