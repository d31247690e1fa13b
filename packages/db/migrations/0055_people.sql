-- Who signs in. `email_key` is the address in the form in which two are the same mailbox: no two people share one.
create table users (
  id text primary key,
  name text not null check (length(name) between 1 and 200),
  email text not null check (length(email) between 3 and 320),
  email_key text not null unique,
  -- Argon2id in the PHC string format, never the password.
  password_digest text not null,
  verified_at timestamptz,
  -- Encrypted under the installation's key; in force once it was confirmed.
  totp_secret text,
  totp_confirmed_at timestamptz,
  -- The last time step whose code was used: no code counts twice.
  totp_used_step bigint,
  -- Whether the operator's pages are theirs.
  is_operator boolean not null default false,
  created_at timestamptz not null default now()
);

create table recovery_codes (
  user_id text not null references users on delete cascade,
  digest bytea not null check (length(digest) = 32),
  primary key (user_id, digest)
);

create table members (
  account_id text not null references accounts on delete cascade,
  user_id text not null references users on delete cascade,
  role text not null check (role in ('owner', 'member', 'viewer')),
  created_at timestamptz not null default now(),
  primary key (account_id, user_id)
);
create index members_user on members (user_id);

create table sessions (
  id text primary key,
  digest bytea not null unique check (length(digest) = 32),
  user_id text not null references users on delete cascade,
  -- The account that is shown; null where the person has left it.
  account_id text references accounts on delete set null,
  created_at timestamptz not null default now(),
  used_at timestamptz not null default now(),
  ends_at timestamptz not null,
  -- When the second factor was last shown.
  proven_at timestamptz,
  network text not null check (length(network) <= 100),
  browser text not null check (length(browser) <= 200)
);
create index sessions_user on sessions (user_id, created_at);
create index sessions_account on sessions (account_id);
create index sessions_ends on sessions (ends_at);

create table invitations (
  id text primary key,
  account_id text not null references accounts on delete cascade,
  email text not null check (length(email) between 3 and 320),
  email_key text not null,
  role text not null check (role in ('owner', 'member', 'viewer')),
  digest bytea not null unique check (length(digest) = 32),
  invited_by text references users on delete set null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  unique (account_id, email_key)
);
create index invitations_expires on invitations (expires_at);

-- Secrets of links: each works once. What a link does is sealed in `detail` under the installation's key.
create table link_codes (
  digest bytea primary key check (length(digest) = 32),
  purpose text not null check (purpose in ('sign_up', 'change_email', 'verify_email', 'reset', 'welcome', 'way_in')),
  user_id text references users on delete cascade,
  account_id text references accounts on delete cascade,
  email_key text,
  detail text,
  -- Whether only a browser on this machine may use it.
  local_only boolean not null default false,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index link_codes_expires on link_codes (expires_at);
create index link_codes_email on link_codes (email_key, purpose);
create index link_codes_user on link_codes (user_id, purpose);
create index link_codes_account on link_codes (account_id);

alter table accounts add column if not exists name text
  check (length(name) between 1 and 200);
alter table accounts add column if not exists retention_days integer
  check (retention_days between 0 and 365);
alter table accounts add column if not exists requires_second_factor boolean not null default false;
