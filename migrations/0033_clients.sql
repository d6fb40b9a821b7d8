-- Programs of the school that sign people in here, or read on their own account.
create table client (
  id text primary key,
  name text not null,
  kind text not null,
  -- JSON arrays.
  redirect_uris text not null,
  logout_uris text not null,
  backchannel_uri text,
  -- Separated by spaces.
  scopes text not null,
  roles text not null,
  consent text not null,
  -- For subjects that differ from client to client; null if the subject is the person's id.
  subject_salt text,
  pkce integer not null,
  claims_in_id_token integer not null,
  -- SHA-256 of the secret, which is 256 random bits; null for clients without one.
  secret_digest text,
  secret_before text,
  secret_before_until bigint,
  created_at bigint not null,
  last_used_at bigint,
  disabled_at bigint
) /* without rowid */;

-- Which scopes somebody has allowed a client.
create table consent (
  person_id text not null,
  client_id text not null,
  scope text not null,
  given_at bigint not null,
  primary key (person_id, client_id)
) /* without rowid */;

-- A session at a client: the client, its scopes, and the portal's session with which it ends.
alter table session add column client_id text;
alter table session add column scope text;
alter table session add column parent_id text;
-- The same also where it does not end with it.
alter table session add column started_from text;
-- The language in which the person signed in there.
alter table session add column language text;
create index session_parent on session (parent_id) where parent_id is not null and ended_at is null;
create index session_client on session (client_id, person_id, started_at) where client_id is not null and ended_at is null;

create table authorization_code (
  digest text primary key,
  client_id text not null,
  redirect_uri text not null,
  code_challenge text,
  scope text not null,
  nonce text,
  language text not null,
  person_id text not null,
  parent_id text not null,
  expires_at bigint not null,
  used_at bigint,
  -- The session that it started.
  session_id text
) /* without rowid */;
create index authorization_code_expiry on authorization_code (expires_at);

-- When a client first asked for a new proof of who somebody is, by the digest of its request.
create table authorization_ask (
  digest text primary key,
  asked_at bigint not null
) /* without rowid */;
create index authorization_ask_age on authorization_ask (asked_at);

-- Tokens that clients have for themselves.
create table service_token (
  id text primary key,
  client_id text not null,
  scope text not null,
  expires_at bigint not null
) /* without rowid */;
create index service_token_expiry on service_token (expires_at);

-- Clients that have to be told that one of their sessions has ended. It outlives the client.
create table logout_call (
  session_id text primary key,
  client_id text not null,
  uri text not null,
  person_id text not null,
  subject_salt text,
  attempts integer not null default 0,
  next_at bigint not null,
  claimed_by text,
  created_at bigint not null,
  tried_at bigint,
  status integer,
  error text,
  ended_at bigint,
  outcome text
) /* without rowid */;
create index logout_call_due on logout_call (client_id, next_at) where ended_at is null;
create index logout_call_client on logout_call (client_id, created_at);
create index logout_call_ended on logout_call (ended_at) where ended_at is not null;
