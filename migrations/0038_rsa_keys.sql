-- The algorithm of a client's ID tokens and logout tokens.
alter table client add column id_token_alg text not null default 'ES256';
alter table logout_call add column id_token_alg text not null default 'ES256';

-- Keys for RS256. In a table of their own, because the release before signs ES256 with any key of signing_key.
create table rsa_signing_key (
  kid text primary key,
  number integer not null unique,
  sealed text not null,
  public_jwk text not null,
  created_at bigint not null,
  signs_from bigint not null
) /* without rowid */;
