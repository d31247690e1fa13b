-- Values that an account wants gone everywhere, and how far that is.
create table erasures (
  id text primary key check (id ~ '^ers_[A-Za-z0-9]{16}$'),
  account_id text not null references accounts on delete cascade,
  -- Of the key that asked: a test key erases what test keys have asked.
  mode text not null check (mode in ('live', 'test')),
  status text not null default 'running' check (status in ('running', 'completed')),
  value_count integer not null,
  include_addresses boolean not null,
  -- The values, encrypted under the installation's key; gone once they are erased.
  target text,
  -- What is done next; only the job reads it.
  place jsonb not null,
  counts jsonb not null default '{}',
  lease integer not null default 0,
  lease_until timestamptz not null default '-infinity',
  created_at timestamptz not null default clock_timestamp(),
  completed_at timestamptz,
  check ((status = 'completed') = (target is null)),
  check ((status = 'completed') = (completed_at is not null))
);
create index erasures_running on erasures (lease_until) where status = 'running';
create index erasures_account on erasures (account_id);
-- Whether subjects of a chunk are blanked: what comes in for them later is, too.
alter table chunks add column has_erased boolean not null default false;
-- How often rows of a batch were blanked, and how often they had been when its result file was written.
alter table batches add column blank_count integer not null default 0;
alter table batches add column result_blank_count integer not null default 0;
-- Whether its upload went with a value that it may have held.
alter table batches add column source_erased boolean not null default false;
