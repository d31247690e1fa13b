-- The audit of the ledger goes on from the last entry that it has read, so it reads entries by their number.
-- They lie in that order, so that a summary of each run of pages is index enough and costs an insert nothing.
create index credit_entries_by_id on credit_entries using brin (id)
  with (pages_per_range = 16, autosummarize = on);

-- How far the ledger goes is no secret to whoever may read it.
grant select on sequence credit_entries_id_seq to public;

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
