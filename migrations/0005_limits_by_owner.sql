-- Keys of limits begin with whose they are: rows that one request takes from stand together.
update quota set key = substr(key, 9) where key like 'address:%';
update quota set key = substr(key, 6) where key like 'pair:%';
-- A bucket is full again within minutes, so few are left to look through for those that are; and every take moved its
-- entry here.
delete from bucket;
drop index bucket_full;
