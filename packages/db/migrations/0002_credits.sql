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

create index credit_accounts_due on credit_accounts (period_end);

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

-- The audit of the ledger goes on from the last entry that it has read, so it reads entries by their number.
-- They lie in that order, so that a summary of each run of pages is index enough and costs an insert nothing.
create index credit_entries_by_id on credit_entries using brin (id)
  with (pages_per_range = 16, autosummarize = on);

-- How far the ledger goes is no secret to whoever may read it.
grant select on sequence credit_entries_id_seq to public;

-- What batches have set aside.
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

create trigger append_only before update or delete or truncate on credit_entries
  for each statement execute function refuse_change('the ledger');

-- Audits, one at a time: who works on the open one holds its lease.
create table ledger_audits (
  id bigint generated always as identity primary key,
  -- From the first entry on; others go on from where the one before ended.
  whole boolean not null,
  -- Number of the whole audit that the sums began with; null is this one.
  generation bigint,
  -- Entries up to this one are in the sums.
  audited_to bigint not null default 0,
  entry_count bigint not null default 0,
  -- Faults of entries stay until the next whole audit, since nobody reads those entries again before.
  entry_faults bigint not null default 0,
  balance_faults bigint not null default 0,
  examples jsonb not null default '[]',
  started_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  lease integer not null default 1,
  lease_until timestamptz not null
);
create unique index ledger_audits_open on ledger_audits ((finished_at is null))
  where finished_at is null;

-- What the audited entries of each account add up to.
create table ledger_account_sums (
  account_id text primary key,
  generation bigint not null,
  allowance bigint not null,
  packs bigint not null,
  held bigint not null
) with (fillfactor = 50);

-- The same for each hold, until it is closed and found right.
create table ledger_hold_sums (
  account_id text not null,
  ref text not null,
  generation bigint not null,
  held bigint not null,
  settled bigint not null,
  released bigint not null,
  primary key (account_id, ref)
) with (fillfactor = 50);
