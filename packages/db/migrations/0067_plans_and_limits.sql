-- Plans and packs are the operator's: these are what a new installation has. A limit that is null is the
-- installation's setting; one of an account goes before that of its plan.
alter table plans
  add column test_keys boolean not null default true,
  add column price_cents integer check (price_cents >= 0),
  add column is_offered boolean not null default true,
  add column position smallint not null default 100,
  add column calls_per_second integer check (calls_per_second > 0),
  add column calls_burst integer check (calls_burst > 0),
  add column unfinished_batches integer check (unfinished_batches >= 0),
  add column upload_rows integer check (upload_rows > 0),
  add column hlr_numbers_per_day integer check (hlr_numbers_per_day >= 0);

insert into plans (plan, monthly_credits, test_keys, price_cents, position) values
  ('free', 200, false, 0, 1),
  ('starter', 5000, true, null, 2),
  ('pro', 25000, true, null, 3)
on conflict (plan) do update set test_keys = excluded.test_keys, price_cents = excluded.price_cents,
  position = excluded.position;

create table packs (
  pack text primary key,
  credits bigint not null check (credits > 0),
  price_cents integer check (price_cents >= 0),
  is_offered boolean not null default true,
  position smallint not null default 100
);

insert into packs (pack, credits, price_cents, position) values
  ('starter', 1000, 2500, 1),
  ('growth', 5000, 10000, 2),
  ('scale', 20000, 35000, 3);

create table account_limits (
  account_id text primary key references accounts,
  calls_per_second integer check (calls_per_second > 0),
  calls_burst integer check (calls_burst > 0),
  unfinished_batches integer check (unfinished_batches >= 0),
  upload_rows integer check (upload_rows > 0),
  hlr_numbers_per_day integer check (hlr_numbers_per_day >= 0)
);

-- A suspended account's calls are refused and its batches rest. Of one that is closed the data are erased, after
-- which nothing of it is left but its credits, which name nobody.
alter table accounts
  add column status text not null default 'active' check (status in ('active', 'suspended', 'closed')),
  add column status_reason text check (length(status_reason) <= 500),
  add column status_at timestamptz,
  add column erased_at timestamptz;

create index accounts_unerased on accounts (status_at) where status = 'closed' and erased_at is null;
