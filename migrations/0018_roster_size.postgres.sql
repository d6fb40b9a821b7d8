-- What is not closed, which is all that an import compares with, however many generations lie behind it.
create index roster_record_now on roster_record (kind, sourced_id, from_gen) where to_gen is null;
create index roster_enrolment_now on roster_enrolment (sourced_id, from_gen) where to_gen is null;
create index student_now on student (sourced_id, email_key) where to_gen is null;

-- A delta is compared with what it touches alone: teachers, who are part of their classes, and the roles of people.
create index roster_enrolment_teacher on roster_enrolment (role, user_id) where role = 'teacher';
create view roster_role as
select r.sourced_id, r.from_gen, r.to_gen, r.data, cast(r.data as json) ->> 'userId' as user_id, cast(r.data as json) ->> 'role' as role,
  cast(r.data as json) ->> 'startDate' as start_date, cast(r.data as json) ->> 'endDate' as end_date
from roster_record r
where r.kind = 'role';
create index roster_role_user on roster_record (kind, (cast(data as json) ->> 'userId')) where kind = 'role';

-- The earliest generation that can be gone back to. Rows that only earlier ones had are deleted.
alter table roster_state add column folded integer not null default 0;
