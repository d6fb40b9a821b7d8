-- When the person last proved who they are in this session, and how.
alter table session add column auth_at bigint not null default 0;
alter table session add column method text not null default 'code';
update session set auth_at = started_at;

-- The session that the code of this challenge renews; null for a sign-in and for a new address.
alter table challenge add column session_id text;

drop index outbox_codes_due;
drop index outbox_notices_due;
create index outbox_codes_due on outbox (next_at) where sent_at is null and (kind is null or kind in ('address-code', 'step-up-code'));
create index outbox_notices_due on outbox (next_at) where sent_at is null and kind is not null and kind not in ('address-code', 'step-up-code');

-- A credential of an authenticator. Its private key never leaves the authenticator.
create table passkey (
  id text primary key,
  person_id text not null,
  email_key text not null,
  credential_id text not null unique,
  public_key text not null,
  user_handle text not null,
  rp_id text not null,
  aaguid text not null,
  transports text not null,
  name text not null,
  sign_count bigint not null,
  backed_up integer not null,
  created_at bigint not null,
  last_used_at bigint
) /* without rowid */;
create index passkey_person on passkey (person_id, created_at);

-- Challenges that were answered; a challenge is accepted once.
create table passkey_challenge (
  digest text primary key,
  used_at bigint not null,
  used_by text not null,
  session_id text
) /* without rowid */;
create index passkey_challenge_used on passkey_challenge (used_at);
