-- Cards that students show. Only a hash of each is kept, and the roster whose facts it shows.
create table student_card (
  card_hash text primary key,
  person_id text not null,
  roster bigint not null,
  expires_at bigint not null
);
create index student_card_person on student_card (person_id, expires_at);
create index student_card_expiry on student_card (expires_at);

-- Teachers whose veterinarian has moved to an address that the roster does not know.
create table teacher_link (
  sourced_id text not null,
  email_key text not null,
  person_id text not null,
  linked_at bigint not null,
  primary key (sourced_id, email_key)
);
create index teacher_link_person on teacher_link (person_id);
