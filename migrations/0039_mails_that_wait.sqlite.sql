-- A code to an unconfirmed address that is over a budget waits for it: the fingerprint of its domain, or `service`.
alter table outbox add column waits_for text;
create index outbox_waiting on outbox (waits_for, id) where waits_for is not null;

-- Whether somebody at a domain has a confirmed account.
create index person_domain on person (substr(email_key, instr(email_key, '@') + 1)) where status = 'active' and email_key is not null;
