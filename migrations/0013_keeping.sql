-- Work that one process does at a time, and who has it until when.
create table lease (
  name text primary key,
  held_by text not null,
  held_until bigint not null
);

-- Backups and restorations. A backup is noted before it is made, so the newest row in it says when that was and by
-- which version; it has no end yet.
create table backup (
  id text primary key,
  kind text not null,
  began_at bigint not null,
  finished_at bigint,
  program text not null
);

-- Closed accounts and removed members of staff, whose rows go when no event names them any more.
create index person_closed on person (closed_at) where closed_at is not null;
