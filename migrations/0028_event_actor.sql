-- What a member of staff or the command line did; the other actors have most events, and are found without it.
create index event_actor on event (actor, number) where actor <> 'self' and actor <> 'system';
