-- An OpenID provider of the school, with whose accounts people can sign in.
create table provider (
  id text primary key,
  name text not null,
  kind text not null,
  issuer text not null,
  client_id text not null,
  sealed text not null,
  roles text not null,
  domains text not null,
  number_claim text,
  address_claim text,
  trust_addresses integer not null,
  tenant text,
  hosted_domain text,
  created_at bigint not null,
  disabled_at bigint
) /* without rowid */;

-- An account at a provider, and whose it is. The address and the number are those that the person had at the last
-- sign-in with it.
create table school_link (
  id text primary key,
  provider_id text not null,
  role text not null,
  subject text not null,
  person_id text not null,
  email_key text not null,
  student_number text,
  created_at bigint not null,
  last_used_at bigint
) /* without rowid */;
create unique index school_link_subject on school_link (provider_id, role, subject);
create unique index school_link_person on school_link (person_id, provider_id);

-- Sessions that began at a provider, so that a logout there ends them.
create table school_session (
  session_id text primary key,
  provider_id text not null,
  subject text not null,
  sid text
) /* without rowid */;
create index school_session_subject on school_session (provider_id, subject);
