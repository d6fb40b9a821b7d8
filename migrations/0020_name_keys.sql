-- Names without case and accents, by which staff find people. Filled by src/platform/db/name-keys.ts: SQL cannot take accents off.
alter table person add column firstname_key text;
alter table person add column lastname_key text;
alter table student add column firstname_key text;
alter table student add column lastname_key text;
