-- When the newest file at the source was written or first seen, and when somebody was last told that no newer one comes.
alter table roster_fetch add column file_at bigint;
alter table roster_fetch add column overdue_told_at bigint;
update roster_fetch set file_at = done_at;
