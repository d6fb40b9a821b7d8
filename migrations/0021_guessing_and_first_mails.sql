-- The answer that was counted last, so that later statements of its transaction know that it was.
alter table challenge add column answer_mark text;

-- When a mail with a code to an address that nobody has confirmed was counted against its limits.
alter table outbox add column admitted_at bigint;

-- Codes for a change of address are codes, although their kind is known from the start.
drop index outbox_due;
drop index outbox_notices_due;
create index outbox_codes_due on outbox (next_at) where sent_at is null and (kind is null or kind = 'address-code');
create index outbox_notices_due on outbox (next_at) where sent_at is null and kind is not null and kind <> 'address-code';

-- Mails to addresses that nobody has are forgotten after a day.
create index delivery_stranger on delivery (id) where person_id is null;
