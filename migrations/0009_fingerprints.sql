-- Names these columns after what they hold: keyed fingerprints, not plain hashes.
alter table challenge rename column address_hash to address_fingerprint;
alter table challenge rename column network_hash to network_fingerprint;
alter table outbox rename column address_hash to address_fingerprint;
alter table notice rename column address_hash to inbox_fingerprint;
alter table known_network rename column address_hash to inbox_fingerprint;
alter table known_network rename column network_hash to network_fingerprint;
