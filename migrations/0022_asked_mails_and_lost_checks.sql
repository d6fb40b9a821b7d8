-- Who asked for a mail to an address that was not theirs; `person_id` is whoever had it. Empty once the asker's account
-- is closed.
alter table delivery add column asker_id text;
create index delivery_asker on delivery (asker_id, id) where asker_id is not null;
update delivery set asker_id = (select c.person_id from challenge c where c.id = delivery.session_id), person_id = null
where session_id in (select c.id from challenge c where c.person_id is not null);
-- Of older ones nobody can tell which of the two `person_id` names, so only staff see them, by their address.
update delivery set person_id = null where kind in ('address-code', 'address-in-use');

-- When a veterinarian lost the school's verification because the name or the address changed, and which of the two. Null
-- again once staff have looked.
alter table person add column unverified_at bigint;
alter table person add column unverified_because text;
create index person_unverified on person (unverified_at) where unverified_at is not null;
-- Whoever changed something after they were verified has to be looked at again, too. An event of that time does not tell
-- a name from the choice to hide the public page.
insert into event (id, at, type, person_id, data, actor)
select 'unverified.' || p.id, max(e.at), 'veterinarian.unverified', p.id,
  case max(e.type) when 'veterinarian.updated' then '{"reason":"name"}' else '{"reason":"address"}' end, 'system'
from person p join event e on e.person_id = p.id
where p.verified_at < e.at and e.type in ('veterinarian.updated', 'veterinarian.address-changed')
group by p.id;
update person set verified_at = null,
  unverified_at = (select e.at from event e where e.id = 'unverified.' || person.id),
  unverified_because = (select case when e.data like '%name%' then 'name' else 'address' end from event e where e.id = 'unverified.' || person.id)
where verified_at is not null and exists (select 1 from event e where e.id = 'unverified.' || person.id);

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
  p.verified_at,
  p.unverified_at,
  p.unverified_because
from person p
left join student s on s.person_id = p.id
  and s.from_gen <= (select content from roster_state)
  and (s.to_gen is null or s.to_gen > (select content from roster_state));
