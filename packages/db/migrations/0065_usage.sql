-- What an operation was for, so that it can be shown beside its credits; null where it was before this.
alter table credit_entries
  add column product text,
  add column source text,
  -- The day of its account that usage counts it on.
  add column used_on date;

-- A batch's product, and the day that its hold was made on.
alter table credit_holds
  add column product text,
  add column used_on date;

-- The day that the account has now, and what was spent on it: debits less refunds, and what holds set aside.
-- Days turn at the account's midnight; constant defaults, so that no row is written here.
alter table credit_accounts
  add column day date,
  add column day_end timestamptz not null default '-infinity',
  add column spent bigint not null default 0,
  add column daily_limit bigint check (daily_limit >= 0),
  add column low_mark bigint check (low_mark > 0);

-- What was used by day: calls by product and source, batches each by itself, so that chunks of several
-- batches never wait for one row. Written with the entry it counts.
create table credit_usage (
  account_id text not null,
  day date not null,
  product text not null,
  source text not null check (source in ('api', 'app', 'batch')),
  ref text not null default '',
  operations bigint not null,
  credits bigint not null,
  primary key (account_id, day, product, source, ref)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

-- That an account went below its low-credit mark, once a day at most; who tells its people notes when.
create table credit_notices (
  account_id text not null references accounts,
  day date not null,
  available bigint not null,
  low_mark bigint not null,
  noted_at timestamptz not null default now(),
  told_at timestamptz,
  primary key (account_id, day)
);
create index credit_notices_untold on credit_notices (noted_at) where told_at is null;
