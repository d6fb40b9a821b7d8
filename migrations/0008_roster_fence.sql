-- Every transaction that writes a roster sets its writer here first. If somebody else has the hold by then, the check
-- fails and rolls the transaction back.
alter table roster_state add column writer text
  constraint roster_hold_lost check (writer is null or (held_by is not null and writer = held_by));

-- Generation numbers only grow: an abandoned number must never be used again for other rows.
alter table roster_state add column last_generation integer not null default 0;
update roster_state set last_generation = (
  select coalesce(max(n), 0) from (
    select max(id) as n from roster_generation
    union all select max(from_gen) from roster_record
    union all select max(from_gen) from roster_enrolment
    union all select max(from_gen) from student
    union all select max(generation) from student_identity
    union all select max(generation) from roster_departure
    union all select max(generation) from event
  ) used
);
