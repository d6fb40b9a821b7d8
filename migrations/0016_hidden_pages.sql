-- Since when a veterinarian does not show the public page.
alter table person add column hidden_at bigint;
