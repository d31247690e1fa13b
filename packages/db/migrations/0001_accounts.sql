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

-- Refuses whatever changes a table that is only added to; its argument is what people call the table.
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only: % of % refused', tg_argv[0], lower(tg_op), tg_table_name
    using errcode = 'restrict_violation';
end $$;

-- Administrative acts: who did what, when, and what it changed. Nothing removes a row, so no subject, key
-- or address goes in; accounts are named by id, without a foreign key, and may be erased.
create table audit_log (
  id bigint generated always as identity primary key,
  acted_at timestamptz not null default clock_timestamp(),
  actor text not null check (length(actor) between 1 and 200),
  action text not null check (length(action) between 1 and 100),
  account_id text,
  before jsonb,
  after jsonb
);

create index audit_log_account on audit_log (account_id, id);

create trigger append_only before update or delete or truncate on audit_log
  for each statement execute function refuse_change('the audit log');

revoke update, delete, truncate on audit_log from public;

-- Fingerprint of the key under which shared stores keep what is known of subjects; never the key itself.
create table installation_key (
  only_one boolean primary key default true check (only_one),
  fingerprint text not null,
  noted_at timestamptz not null default now()
);
