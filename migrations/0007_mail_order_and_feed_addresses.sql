-- Mails that may carry a code are sent before those that are known to carry none.
drop index outbox_due;
create index outbox_due on outbox (next_at) where sent_at is null and kind is null;
create index outbox_notices_due on outbox (next_at) where sent_at is null and kind is not null;

-- Budgets for mails without a code: one for the service and one for each domain. As in `bucket`, a budget is stored as
-- the time at which it would be full again; the mark names the mail that last used it.
create table notice_budget (
  key text primary key,
  full_at bigint not null,
  mark text not null
) /* without rowid */;

-- The address of the student when the feed was made. For existing feeds it is looked up in the roster of that time.
alter table calendar_feed add column email_key text;
update calendar_feed set email_key = (
  select s.email_key from student s
  join roster_generation g on g.id = (
    select max(id) from roster_generation where published_at <= calendar_feed.created_at
  )
  where s.person_id = calendar_feed.person_id and s.from_gen <= g.content and (s.to_gen is null or s.to_gen > g.content)
);
