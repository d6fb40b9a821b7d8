-- What is not closed, which is all that an import compares with, however many generations lie behind it.
create index roster_record_now on roster_record (kind, sourced_id, from_gen) where to_gen is null;
create index roster_enrolment_now on roster_enrolment (sourced_id, from_gen) where to_gen is null;
create index student_now on student (sourced_id, email_key) where to_gen is null;

-- A delta is compared with what it touches alone: teachers, who are part of their classes, and the roles of people.
create index roster_enrolment_teacher on roster_enrolment (role, user_id) where role = 'teacher';
create view roster_role as
select r.sourced_id, r.from_gen, r.to_gen, r.data, r.data ->> 'userId' as user_id, r.data ->> 'role' as role,
  r.data ->> 'startDate' as start_date, r.data ->> 'endDate' as end_date
from roster_record r
where r.kind = 'role';
create index roster_role_user on roster_record (kind, data ->> 'userId') where kind = 'role';

-- The earliest generation that can be gone back to. Rows that only earlier ones had are deleted.
alter table roster_state add column folded integer not null default 0;
