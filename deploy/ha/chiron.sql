\getenv password SERVICE_PASSWORD
create role chiron login password :'password';
-- Chiron cannot set it for a session that PgBouncer shares.
alter role chiron set statement_timeout = '10s';
create database chiron owner chiron;
