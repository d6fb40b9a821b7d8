-- People on the roster by address. As a view, so that the import need not know who asks, and rosters from before have it.
create view roster_user as
select r.sourced_id, r.from_gen, r.to_gen, lower(cast(r.data as json) ->> 'email') as email_key
from roster_record r
where r.kind = 'user' and cast(r.data as json) ->> 'enabled' = 'true';
create index roster_user_email on roster_record (kind, lower(cast(data as json) ->> 'email')) where kind = 'user';
create index roster_enrolment_class on roster_enrolment (class_id);

-- Several calendar feeds a student, each with a name. A feed from before keeps its address.
alter table calendar_feed rename to calendar_feed_before;
create table calendar_feed (
  id text primary key,
  person_id text not null,
  name text not null,
  token_hash text not null unique,
  created_at bigint not null,
  email_key text,
  last_read_at bigint
);
create index calendar_feed_person on calendar_feed (person_id, created_at);
insert into calendar_feed (id, person_id, name, token_hash, created_at, email_key)
select substr(token_hash, 1, 22), person_id, 'Calendar', token_hash, created_at, email_key from calendar_feed_before;
drop table calendar_feed_before;

-- A challenge that confirms a new address: whose account it is for, and the address, which no request repeats.
alter table challenge add column person_id text;
alter table challenge add column email text;
create index challenge_person on challenge (person_id) where person_id is not null;
