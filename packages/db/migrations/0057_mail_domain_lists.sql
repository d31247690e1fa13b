-- The mail domains that sign-up judges by, as the workers last loaded them: the first 8 bytes of the SHA-256 of each
-- name, in order, one after the other.
create table mail_domain_lists (
  only_one boolean primary key default true check (only_one),
  version text not null,
  disposable bytea not null,
  free bytea not null,
  noted_at timestamptz not null default now()
);
