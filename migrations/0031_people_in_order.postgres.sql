-- Staff read people in the order of their names, or of when they came or changed.
create index person_name on person (lastname_key, firstname_key, id) where lastname_key is not null;
create index person_created on person (created_at, id);
create index person_updated on person (updated_at, id);
create index student_name on student (lastname_key, firstname_key, person_id);

-- Students whom the roster has, but who may not sign in (`enabledUser` is false). Rows come and go as in `student`. Each
-- has an account, which is inactive and is the student's own once they are enabled.
create table disabled_student (
  person_id text not null,
  from_gen integer not null,
  to_gen integer,
  sourced_id text not null,
  digest text not null,
  email text,
  email_key text,
  firstname text not null,
  firstname_key text not null,
  lastname text not null,
  lastname_key text not null,
  student_number text,
  year integer,
  primary key (person_id, from_gen)
);
create index disabled_student_name on disabled_student (lastname_key, firstname_key, person_id);
create index disabled_student_email on disabled_student (email_key);
create index disabled_student_number on disabled_student (student_number);
create index disabled_student_from on disabled_student (from_gen);
create index disabled_student_to on disabled_student (to_gen) where to_gen is not null;

-- From now on imports write here, too, when a student changed.
update person set updated_at = coalesce((
    select max(s.updated_at) from student s where s.person_id = person.id and s.updated_at > person.updated_at
      and s.from_gen <= (select content from roster_state)), updated_at)
where role = 'student';
