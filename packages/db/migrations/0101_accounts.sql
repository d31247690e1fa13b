-- Plans are filled from the contract by every migration run; only their names are needed here.
create table plans (
  plan text primary key,
  monthly_credits bigint not null check (monthly_credits >= 0)
);

create table accounts (
  id text primary key,
  email text not null check (length(email) between 1 and 320),
  plan text not null references plans,
  next_plan text references plans check (next_plan <> plan),
  time_zone text not null default 'UTC',
  created_at timestamptz not null default now()
);

create table api_keys (
  id text primary key,
  account_id text not null references accounts,
  mode text not null check (mode in ('live', 'test')),
  digest bytea not null unique check (length(digest) = 32),
  prefix text not null,
  last4 text not null,
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  last_used_at timestamptz
);

-- Holds for all writers: one active key for each mode of an account.
create unique index api_keys_active on api_keys (account_id, mode) where revoked_at is null;
create index api_keys_account on api_keys (account_id, created_at);
