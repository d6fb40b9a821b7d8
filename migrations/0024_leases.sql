alter table lease rename column held_by to leased_by;
alter table lease rename column held_until to leased_until;
alter table roster_state rename column held_by to leased_by;
alter table roster_state rename column held_until to leased_until;
