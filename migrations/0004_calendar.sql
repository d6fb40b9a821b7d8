-- A student's calendar feed: one at most, known by the hash of the token in its address.
create table calendar_feed (
  person_id text primary key,
  token_hash text not null unique,
  created_at bigint not null
);
