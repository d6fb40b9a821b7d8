-- Who imported or undid, what they allowed by name, and the newest change that the file knew of.
alter table roster_generation add column actor text;
alter table roster_generation add column allowed text not null default '';
alter table roster_generation add column newest_row_at bigint;

-- The sourcedId whose account this one took over when the school's system gave everybody a new one.
alter table student_identity add column matched_from text;

-- What staff have put right until the school's system does. Null: as the file has it.
create table roster_correction (
  person_id text not null,
  from_gen integer not null,
  to_gen integer,
  email text,
  firstname text,
  lastname text,
  actor text not null,
  corrected_at bigint not null,
  primary key (person_id, from_gen)
);
