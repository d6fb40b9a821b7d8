-- The roster that the last undo left; its rows are there until the next import begins.
alter table roster_state add column redo bigint;
