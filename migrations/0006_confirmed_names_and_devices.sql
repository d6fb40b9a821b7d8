-- When the owner gave or confirmed the names while signed in, and when a member of staff verified the person.
alter table person add column confirmed_at bigint;
alter table person add column verified_at bigint;

drop view account;
create view account as
select p.id, p.role,
  case when p.role = 'student' and p.status = 'active' and s.person_id is null then 'inactive' else p.status end as status,
  coalesce(s.email, p.email) as email,
  coalesce(s.email_key, p.email_key) as email_key,
  coalesce(s.firstname, p.firstname) as firstname,
  coalesce(s.lastname, p.lastname) as lastname,
  p.created_at,
  coalesce(s.updated_at, p.updated_at) as updated_at,
  p.confirm_before,
  p.confirmed_at,
  p.verified_at
from person p
left join student s on s.person_id = p.id
  and s.from_gen <= (select content from roster_state)
  and (s.to_gen is null or s.to_gen > (select content from roster_state));

-- The address without its +tag, which limits count by, and the device whose own allowance of codes was used.
alter table challenge add column inbox_fingerprint text;
alter table challenge add column device_id text;
create index challenge_inbox on challenge (inbox_fingerprint, expires_at);

-- The numbers of the previous two refresh tokens. Numbers that were issued but never used are skipped, so the previous
-- one is not always one less.
alter table session add column refresh_parent integer not null default 0;
alter table session add column refresh_grandparent integer not null default 0;
update session set refresh_parent = refresh_seq - 1, refresh_grandparent = refresh_seq - 2;
