-- Rosters that staff uploaded, with what each would change. They are kept for a day; the file and the changes go when
-- it is imported. The file is in parts, so that any process can import it.
create table roster_plan (
  id text primary key,
  person_id text not null,
  created_at bigint not null,
  expires_at bigint not null,
  file_name text not null,
  options text not null,
  state text not null,
  -- The roster that it was compared with.
  content integer,
  generation integer,
  sha256 text,
  summary text,
  findings text,
  -- The process that imports it, which says again and again that it is alive.
  claimed_by text,
  busy_until bigint,
  done integer,
  total integer,
  failure text,
  imported_as integer
);
create index roster_plan_person on roster_plan (person_id, created_at);

create table roster_plan_part (
  plan_id text not null,
  number integer not null,
  base64 text not null,
  primary key (plan_id, number)
);

create table roster_plan_change (
  plan_id text not null,
  place integer not null,
  page integer not null,
  changes text not null,
  primary key (plan_id, place, page)
);
