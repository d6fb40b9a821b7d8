-- Every import and every undo is a generation. Rows say in which generation they came and went; `roster_state.content`
-- says which generation's rows are visible. So an import is written unseen, published by changing one number, and
-- undone by changing it back.
create table roster_generation (
  id integer primary key,
  kind text not null,
  parent integer not null,
  content integer not null,
  file_name text not null,
  sha256 text not null,
  version text not null,
  rows integer not null,
  summary text not null,
  started_at bigint not null,
  published_at bigint
);

create table roster_state (
  one integer primary key check (one = 1),
  content integer not null,
  generation integer not null,
  held_by text,
  held_until bigint not null
);
insert into roster_state (one, content, generation, held_until) values (1, 0, 0, 0);

-- Organisations, terms, courses, classes, users and roles as the file has them. A class also as a reader gets it.
create table roster_record (
  kind text not null,
  sourced_id text not null,
  from_gen integer not null,
  to_gen integer,
  digest text not null,
  data text not null,
  document text,
  updated_at bigint not null,
  primary key (kind, sourced_id, from_gen)
);
create index roster_record_from on roster_record (from_gen);
create index roster_record_to on roster_record (to_gen) where to_gen is not null;

create table roster_enrolment (
  sourced_id text not null,
  from_gen integer not null,
  to_gen integer,
  user_id text not null,
  class_id text not null,
  school_id text,
  role text not null,
  is_primary integer not null,
  start_date text,
  end_date text,
  primary key (sourced_id, from_gen)
);
create index roster_enrolment_user on roster_enrolment (user_id);
create index roster_enrolment_from on roster_enrolment (from_gen);
create index roster_enrolment_to on roster_enrolment (to_gen) where to_gen is not null;

-- Who a sourcedId is, for good: somebody who comes back has the same account.
create table student_identity (
  sourced_id text primary key,
  person_id text not null,
  generation integer not null
) /* without rowid */;
create index student_identity_generation on student_identity (generation);

-- Students as they sign in and see themselves.
create table student (
  person_id text not null,
  from_gen integer not null,
  to_gen integer,
  sourced_id text not null,
  digest text not null,
  email text,
  email_key text,
  firstname text not null,
  lastname text not null,
  preferred_name text,
  pronouns text,
  student_number text,
  year integer,
  school_id text,
  school_name text,
  updated_at bigint not null,
  primary key (person_id, from_gen)
) /* without rowid */;
create index student_email on student (email_key);
create index student_from on student (from_gen);
create index student_to on student (to_gen) where to_gen is not null;

-- Whose sessions end when a generation is published.
create table roster_departure (
  generation integer not null,
  person_id text not null,
  primary key (generation, person_id)
);

-- Events of an import are written with it and count from its publication on.
alter table event add column generation integer;
create index event_generation on event (generation) where generation is not null;

-- A person as everybody else sees one: a student's names and address are the roster's, and whoever is not on it is
-- inactive. (Scalar subqueries, not a join with roster_state: SQLite would otherwise build the whole view first.)
create view account as
select p.id, p.role,
  case when p.role = 'student' and p.status = 'active' and s.person_id is null then 'inactive' else p.status end as status,
  coalesce(s.email, p.email) as email,
  coalesce(s.email_key, p.email_key) as email_key,
  coalesce(s.firstname, p.firstname) as firstname,
  coalesce(s.lastname, p.lastname) as lastname,
  p.created_at,
  coalesce(s.updated_at, p.updated_at) as updated_at,
  p.confirm_before
from person p
left join student s on s.person_id = p.id
  and s.from_gen <= (select content from roster_state)
  and (s.to_gen is null or s.to_gen > (select content from roster_state));
