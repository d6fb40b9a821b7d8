-- What a provider claimed in a sign-in that was refused, for the help desk. Events hold ids only.
create table school_refusal (
  reference text primary key,
  event_id text not null,
  at bigint not null,
  provider_id text not null,
  student_number text not null,
  email text not null
) /* without rowid */;
create index school_refusal_at on school_refusal (at);
