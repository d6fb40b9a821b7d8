-- What a member of staff may do, as a list with commas; null for everybody else.
alter table person add column may text;

-- Who made a change, in which request and from which network. The number is given once the change can be seen.
alter table event add column actor text not null default 'system';
alter table event add column request_id text;
alter table event add column network_fingerprint text;
alter table event add column number bigint;
create unique index event_number on event (number);
create index event_unnumbered on event (generation, at, id) where number is null;
create index event_network on event (network_fingerprint, at) where network_fingerprint is not null;

create table event_counter (one integer primary key, last bigint not null);
insert into event_counter (one, last) values (1, 0);

alter table registration add column request_id text;
alter table registration add column network_fingerprint text;

-- What staff wrote about a change. Apart from events, which hold no text of people.
create table note (
  event_id text primary key,
  person_id text not null,
  text text not null
);
create index note_person on note (person_id);

create index student_number on student (student_number) where student_number is not null;

drop view account;
create view account as
select p.id, p.role,
  case when p.role = 'student' and p.status = 'active' and s.person_id is null then 'inactive' else p.status end as status,
  coalesce(s.email, p.email) as email,
  coalesce(s.email_key, p.email_key) as email_key,
  coalesce(s.firstname, p.firstname) as firstname,
  coalesce(s.lastname, p.lastname) as lastname,
  s.student_number,
  p.created_at,
  coalesce(s.updated_at, p.updated_at) as updated_at,
  p.confirm_before,
  p.confirmed_at,
  p.verified_at
from person p
left join student s on s.person_id = p.id
  and s.from_gen <= (select content from roster_state)
  and (s.to_gen is null or s.to_gen > (select content from roster_state));
