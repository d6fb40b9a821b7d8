-- Whoever writes a roster puts its name here first. If somebody else has the hold by then, the check fails, and with it
-- the whole transaction.
alter table roster_state add column writer text
  constraint roster_hold_lost check (writer is null or (held_by is not null and writer = held_by));

-- Numbers of generations only grow: one that was given up must never come back with other rows.
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
