-- What can be spent now. Apart from `accounts`, so that the checks of foreign keys never wait for a
-- balance; half-filled pages and no index on what changes keep updates within the page.
create table credit_accounts (
  account_id text primary key references accounts,
  allowance bigint not null default 0 check (allowance >= 0),
  packs bigint not null default 0 check (packs >= 0),
  period_no integer not null default 0,
  period_start timestamptz not null,
  period_end timestamptz not null,
  anchor timestamp not null,
  check (period_end > period_start)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

-- The ledger. A balance is the sum of its entries; an operation of one kind takes effect once.
-- No foreign key: each insert would lock the account's row once more.
create table credit_entries (
  id bigint generated always as identity,
  account_id text not null,
  op_key text not null check (length(op_key) between 1 and 300),
  kind text not null check (kind in (
    'grant', 'expire', 'pack', 'goodwill', 'debit', 'refund', 'give_back', 'hold', 'settle', 'release')),
  allowance_delta bigint not null,
  packs_delta bigint not null,
  held_delta bigint not null,
  period_no integer not null,
  detail text,
  created_at timestamptz not null default now(),
  primary key (account_id, op_key, kind)
) with (autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.1);

-- A payment is credited to one account only.
create unique index credit_entries_pack on credit_entries (op_key) where kind = 'pack';
create index credit_entries_grants on credit_entries (account_id, id)
  where kind in ('pack', 'goodwill');

create table credit_holds (
  account_id text not null references accounts,
  ref text not null check (length(ref) between 1 and 200),
  credits bigint not null check (credits >= 0),
  allowance_left bigint not null check (allowance_left >= 0),
  packs_left bigint not null check (packs_left >= 0),
  settled bigint not null default 0 check (settled >= 0),
  released bigint not null default 0 check (released >= 0),
  period_no integer not null,
  created_at timestamptz not null default now(),
  closed_at timestamptz,
  primary key (account_id, ref),
  check (allowance_left + packs_left + settled + released = credits),
  check (closed_at is null or allowance_left + packs_left = 0)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);

create index credit_holds_open on credit_holds (account_id) where closed_at is null;

-- Debits that nobody has been answered for; small, and every row of it is soon deleted.
create table credit_unanswered (
  account_id text not null,
  op_key text not null,
  created_at timestamptz not null default now(),
  primary key (account_id, op_key)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

create index credit_unanswered_age on credit_unanswered (created_at);

create function credit_entries_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'the ledger is append-only: % of credit_entries refused', lower(tg_op)
    using errcode = 'restrict_violation';
end $$;

create trigger append_only before update or delete or truncate on credit_entries
  for each statement execute function credit_entries_append_only();
