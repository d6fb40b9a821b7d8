-- SQLite kept times of files with fractions of a millisecond, as file systems have them.
update roster_fetch set file_at = cast(file_at as bigint);
