-- Whether veterinarians may sign in at a client whom the school has not verified. Null if nobody has decided, as in rows of
-- programs before this schema: then they may.
alter table client add column unverified_veterinarians integer;
