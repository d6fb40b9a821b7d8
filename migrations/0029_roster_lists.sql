-- How an uploaded class list was understood, for its registrar to check.
alter table roster_plan add column list text;
-- What the changes of a page are found by.
alter table roster_plan_change add column keys text;
-- To tell who was on the roster before.
create index student_identity_person on student_identity (person_id);
