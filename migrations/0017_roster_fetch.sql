-- When the roster was last compared with the school's. An import or fetch that finds nothing to change counts too.
alter table roster_state add column checked_at bigint;

-- How the last fetch went, and which set fetches are done with: the same one is not taken twice.
create table roster_fetch (
  one integer primary key check (one = 1),
  tried_at bigint not null,
  outcome text not null,
  message text not null,
  source text,
  mark text,
  sha256 text,
  file_name text,
  done_at bigint
);

-- The text of a mail that is a report; all others are made of their kind.
alter table outbox add column report text;
