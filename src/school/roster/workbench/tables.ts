/**
 * The tables of a workbench, for each kind of record:
 *
 *   row_K      what the file says; without data, that the record goes
 *   now_K      the current roster: views of the store, or tables that are filled from it
 *   change_K   the rows of the file that are new or differ, with what was before
 *   leaving_K  current records that leave
 *   kept_K     current records that stay, although the file does not name them
 *
 * `file_K` are the rows that the file has as active. `next_K` is the roster after the import: `place` is the row of the
 * file, or a negative number for what is kept, which comes first. `was_K` is the roster before it.
 */
import { type Kind, kinds } from '../records.ts'

/** The columns of a record: those of an enrolment are few and compared often, others are kept as JSON. */
export function columnsOf(kind: Kind): readonly string[] {
  return kind === 'enrolment' ? ['user_id', 'class_id', ...restColumns] : ['data']
}

/** Everything in an enrolment except person and class: there are few different ones, so rows name them by number. */
export const restColumns = ['school_id', 'role', 'is_primary', 'start_date', 'end_date'] as const

export const studentColumns = [
  'person_id',
  'from_gen',
  'sourced_id',
  'digest',
  'email',
  'email_key',
  'firstname',
  'lastname',
  'preferred_name',
  'pronouns',
  'student_number',
  'year',
  'school_id',
  'school_name',
] as const

const firstKept = -1e12

function tablesOf(kind: Kind): string {
  const columns = columnsOf(kind).join(', ')
  const own = kind === 'enrolment' ? 'user_id text, class_id text, rest integer' : 'data text'
  const was = columnsOf(kind).map((name) => `was_${name}`)
  const active =
    kind === 'enrolment'
      ? `select r.n, r.id, r.line, r.user_id, r.class_id, ${restColumns.map((name) => `x.${name}`).join(', ')}
         from row_enrolment r cross join rest x on x.n = r.rest`
      : `select r.n, r.id, r.line, r.data from row_${kind} r where r.data is not null`
  return `
    create table row_${kind} (n integer primary key, id text, line integer, ${own}${kind === 'role' ? ', user_id text' : ''});
    create table change_${kind} (row integer primary key, operation text, from_gen integer, ${was.join(', ')});
    create table leaving_${kind} (n integer primary key, id text, from_gen integer, ${columns});
    create table kept_${kind} (n integer primary key, id text, from_gen integer, ${columns});
    create view file_${kind} as ${active};
    create view next_${kind} as
      select n as place, id, line, ${columns} from file_${kind}
      union all select ${firstKept} + n, id, null, ${columns} from kept_${kind};
    create view was_${kind} as
      select id, ${columns} from leaving_${kind}
      union all select id, ${columns} from kept_${kind}
      union all select f.id, ${was.map((name) => `c.${name}`).join(', ')}
        from change_${kind} c join file_${kind} f on f.n = c.row where c.operation = 'changed'
      union all select f.id, ${columns.replaceAll(/\w+/g, 'f.$&')} from file_${kind} f
        where not exists (select 1 from change_${kind} c where c.row = f.n);`
}

export const schema = `
  create table rest (n integer primary key, ${restColumns.join(', ')});
  create table bad (kind text, id text, primary key (kind, id)) without rowid;
  create table failed (kind text, n integer, id text, line integer);
  ${kinds.map(tablesOf).join('\n')}

  -- Users as the file has them, where the roster will have them otherwise.
  create table told_user (n integer primary key, data text);
  create table role_today (user_id text, place integer, data text, primary key (user_id, place)) without rowid;
  create table teaching (class_id text, user_id text, place integer, is_primary integer,
    primary key (class_id, user_id)) without rowid;
  -- Classes that are written, with what readers get.
  create table new_document (place integer primary key, id text, closes integer, document text);

  create table student (place integer primary key, id text, state text, email_key text, file_key text, number text,
    person_id text, digest text, fields text, correction text, matched_from text, is_new_person integer);
  create table was_student (n integer primary key, id text, student_number text, email_key text, version text);
  create table next_disabled (place integer primary key, id text, person_id text, is_new_person integer,
    digest text, fields text, before text, is_same integer);
  create table no_longer_disabled (person_id text, from_gen integer);

  -- For the checks.
  create table blamed (kind text, id text, primary key (kind, id)) without rowid;
  create table lowered (kind text, lower text, id text, primary key (kind, lower)) without rowid;
  create table teacher_address (email_key text, id text, place integer primary key);
  create table class_span (id text primary key, now_start text, now_end text, is_now integer,
    then_start text, then_end text, is_then integer) without rowid;
  create table lost_enrolment (account text, class_id text, stage text, primary key (account, class_id, stage))
    without rowid;`

/**
 * Indexes are made when their table is full: that is quicker than to keep them. Enrolments are compared in the order of
 * their ids by their index alone, because a file may have them in any order.
 */
export const rowIndexes = (kind: Kind) =>
  kind === 'enrolment'
    ? `create index row_enrolment_id on row_enrolment (id, user_id, class_id, rest);
       create index row_enrolment_user on row_enrolment (user_id, rest)`
    : `create index row_${kind}_id on row_${kind} (id)`

export const comparisonIndexes = `
  ${kinds.map((kind) => `create index leaving_${kind}_id on leaving_${kind} (id);`).join('\n')}
  create index student_matched on student (matched_from) where matched_from is not null;
  create index was_student_id on was_student (id);
  create index next_disabled_id on next_disabled (id);`

export const clearComparison = [
  ...kinds.flatMap((kind) => [`change_${kind}`, `leaving_${kind}`, `kept_${kind}`]),
  ...[
    'role_today',
    'teaching',
    'new_document',
    'student',
    'was_student',
    'next_disabled',
    'no_longer_disabled',
  ],
]
  .map((table) => `delete from ${table};`)
  .concat(kinds.map((kind) => `drop index if exists kept_${kind}_id;`))
  .concat(
    ['kept_enrolment_user', 'student_id', 'student_address', 'student_person'].map(
      (index) => `drop index if exists ${index};`,
    ),
  )
  .join('\n')

export const studentIndexes = `create index student_id on student (id);
  create index student_address on student (email_key);
  create index student_person on student (person_id)`

export const keptIndexes = (kind: Kind) => `create index kept_${kind}_id on kept_${kind} (id);
  ${kind === 'enrolment' ? 'create index kept_enrolment_user on kept_enrolment (user_id);' : ''}`

/** What is visible now, as tables to be filled. */
export const emptyStanding = `
  ${kinds
    .map(
      (kind) => `drop table if exists now_${kind};
      create table now_${kind} (id text primary key, from_gen integer, ${columnsOf(kind).join(', ')}) without rowid;`,
    )
    .join('\n')}
  drop table if exists now_document;
  create table now_document (id text primary key, document text) without rowid;
  drop table if exists now_student;
  create table now_student (${studentColumns.join(', ')}, primary key (sourced_id)) without rowid;
  drop table if exists now_disabled;
  create table now_disabled (person_id text, from_gen integer, sourced_id text primary key, digest text) without rowid;`
