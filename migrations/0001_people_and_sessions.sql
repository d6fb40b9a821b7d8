-- Accounts of either role. A closed account keeps its id and loses everything personal.
create table person (
  id text primary key,
  role text not null,
  status text not null,
  email text,
  email_key text,
  firstname text,
  lastname text,
  created_at bigint not null,
  updated_at bigint not null,
  confirm_before bigint,
  activated_at bigint,
  closed_at bigint
) /* without rowid */;
create unique index person_email on person (role, email_key);
create index person_pending on person (confirm_before) where status = 'pending';
create index person_lapsed on person (id) where status = 'lapsed';

-- Registrations as they came in, not yet applied to the account they concern.
create table registration (
  id text primary key,
  email text not null,
  email_key text not null,
  firstname text not null,
  lastname text not null,
  created_at bigint not null,
  confirm_before bigint not null
);
create index registration_email on registration (email_key);

-- A sign-in that waits for its code. Holds neither code nor address.
create table challenge (
  id text primary key,
  role text not null,
  address_hash text not null,
  network_hash text not null,
  digits integer not null,
  reference text not null,
  created_at bigint not null,
  expires_at bigint not null,
  resend_at bigint,
  resends integer not null,
  attempts integer not null,
  send_id text not null,
  used_at bigint,
  used_by text
) /* without rowid */;
create index challenge_expiry on challenge (expires_at);

-- A sign-in that succeeded; its id is the challenge's.
create table session (
  id text primary key,
  role text not null,
  person_id text not null,
  device text not null,
  started_at bigint not null,
  last_seen_at bigint not null,
  expires_at bigint not null,
  refresh_seq integer not null,
  rotated_at bigint not null,
  rotated_before_at bigint not null,
  ended_at bigint,
  end_reason text
) /* without rowid */;
create index session_person on session (person_id, started_at);
create index session_expiry on session (expires_at) where ended_at is null;
create index session_ended on session (ended_at) where ended_at is not null;

create table event (
  id text primary key,
  at bigint not null,
  type text not null,
  person_id text,
  session_id text,
  data text not null
);
create index event_at on event (at, id);
create index event_person on event (person_id, at);

-- Mail to be sent. Which text it gets is decided when it is sent, and its code is derived then.
create table outbox (
  id text primary key,
  session_id text not null,
  role text not null,
  email text not null,
  address_hash text not null,
  language text not null,
  digits integer not null,
  reference text not null,
  kind text,
  created_at bigint not null,
  expires_at bigint not null,
  attempts integer not null,
  next_at bigint not null,
  claimed_by text,
  sent_at bigint
) /* without rowid */;
create index outbox_due on outbox (next_at) where sent_at is null;
create index outbox_sent on outbox (sent_at) where sent_at is not null;

-- When a mail without a code last went to an address.
create table notice (
  address_hash text primary key,
  sent_at bigint not null
) /* without rowid */;

-- Numbered, so that of several processes that make the next one, one does.
create table signing_key (
  kid text primary key,
  number integer not null unique,
  sealed text not null,
  public_jwk text not null,
  created_at bigint not null,
  signs_from bigint not null
);
