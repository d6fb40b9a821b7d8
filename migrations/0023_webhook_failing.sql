-- When the first attempt failed since the last success. An endpoint that fails for three days is switched off.
alter table webhook add column failing_since bigint;
