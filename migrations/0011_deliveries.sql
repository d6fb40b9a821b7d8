-- What became of each mail. The id is that of the row in the outbox and begins with the time. Each step is one line of
-- JSON in `steps`. `bounced_at` is set if the address refused the mail for good.
create table delivery (
  id text primary key,
  session_id text not null,
  role text not null,
  kind text,
  address_fingerprint text not null,
  domain text not null,
  person_id text,
  state text not null,
  created_at bigint not null,
  updated_at bigint not null,
  bounced_at bigint,
  steps text not null
);
create index delivery_address on delivery (address_fingerprint, id);
create index delivery_person on delivery (person_id, id) where person_id is not null;
-- Few mails are in trouble, so the index is small and most changes do not touch it.
create index delivery_trouble on delivery (state, id) where state in ('deferred', 'not-sent', 'failed', 'bounced');
