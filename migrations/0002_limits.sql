-- A bucket is one number: the time at which it would be full again (GCRA). The mark names the request that took last.
create table bucket (
  key text primary key,
  full_at bigint not null,
  mark text not null
) /* without rowid */;
create index bucket_full on bucket (full_at);

-- The times of the last takes, newest first, 13 digits each: an exact sliding window in one row.
create table quota (
  key text primary key,
  times text not null,
  taken_at bigint not null,
  mark text not null
) /* without rowid */;
create index quota_taken on quota (taken_at);

-- Failed validations, counted by the minute.
create table failure (
  key text not null,
  minute bigint not null,
  count integer not null,
  primary key (key, minute)
) /* without rowid */;
create index failure_minute on failure (minute);

-- Networks where an address has signed in.
create table known_network (
  address_hash text not null,
  network_hash text not null,
  seen_at bigint not null,
  primary key (address_hash, network_hash)
) /* without rowid */;
create index known_network_seen on known_network (seen_at);
