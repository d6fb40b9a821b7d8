-- One row, which health checks write to see whether the store takes writes.
create table write_probe (id integer primary key, filler text not null);
