-- Uploaded lists. The states and their moves are in the contract; `ats` holds when each was reached.
create table batches (
  id text primary key,
  account_id text not null references accounts (id),
  mode text not null check (mode in ('live', 'test')),
  product text not null,
  name text,
  status text not null,
  explain boolean not null,
  -- Whether records that end as unknown are charged; fixed when the list came.
  charge_unknown boolean not null,
  default_country text,
  auto_start boolean not null,
  max_credits bigint,
  retention_days integer not null,
  requested jsonb not null,
  source_key text not null,
  file_name text,
  file_bytes bigint not null,
  file_format text,
  encoding text,
  delimiter text,
  header jsonb,
  column_count integer not null default 0,
  mapping jsonb not null default '{}',
  -- Whether every row of the list stands in chunks.
  read_whole boolean not null default false,
  rows_total bigint not null default 0,
  rows_blank bigint not null default 0,
  rows_refused bigint not null default 0,
  rows_duplicate bigint not null default 0,
  rows_billable bigint not null default 0,
  -- One bit a row: set where a later row repeats it.
  repeated bytea,
  credits_estimate bigint not null default 0,
  credits_held bigint not null default 0,
  credits_released bigint not null default 0,
  result_key text,
  result_bytes bigint,
  result_rows bigint,
  result_sha256 text,
  error jsonb,
  -- What the chunks added up to, kept when they are erased.
  sums jsonb,
  ats jsonb not null,
  expires_at timestamptz,
  -- The stage in hand (reading the list, writing the result): its fencing number and lease.
  lease integer not null default 0,
  lease_until timestamptz,
  stage_attempts integer not null default 0,
  created_at timestamptz not null default clock_timestamp()
);
create index batches_by_account on batches (account_id, mode, created_at desc, id desc);
create index batches_open on batches (status)
  where status in ('analyzing', 'running', 'finalizing', 'canceling');
create index batches_expiring on batches (expires_at) where expires_at is not null;

-- A run of rows of a list. `cells` is what came, `subjects` what is asked; both compressed JSON.
create table chunks (
  batch_id text not null references batches (id) on delete cascade,
  no integer not null,
  first_row integer not null,
  row_count integer not null,
  billable_count integer not null,
  email_count integer not null,
  phone_count integer not null,
  ip_count integer not null,
  domain_count integer not null,
  -- Subjects without an outcome; the move to 0 settles the chunk.
  remaining integer not null,
  subjects bytea not null,
  cells bytea not null,
  settled_at timestamptz,
  charged integer not null default 0,
  verdicts integer[] not null default '{}',
  primary key (batch_id, no)
) with (fillfactor = 80);
alter table chunks alter column subjects set storage external;
alter table chunks alter column cells set storage external;
create index chunks_open on chunks (batch_id) where settled_at is null;

-- What is to be asked: subjects of one chunk and check that go out as one job.
create table tasks (
  id bigint generated always as identity primary key,
  batch_id text not null references batches (id) on delete cascade,
  account_id text not null,
  mode text not null,
  check_kind text not null,
  depth text not null,
  chunk_no integer not null,
  -- Places in the chunk's subjects of this check; null is all of them.
  indexes integer[],
  size integer not null,
  states jsonb,
  attempts integer not null default 0,
  lease integer not null default 0,
  lease_until timestamptz,
  -- What it waits for, with the others of its group, and not before when; null is nothing.
  group_key text,
  due_at timestamptz
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
create index tasks_pending on tasks (check_kind, batch_id, chunk_no)
  where lease_until is null and group_key is null;
create index tasks_waiting on tasks (check_kind, group_key, account_id, id)
  where lease_until is null and group_key is not null;
create index tasks_leased on tasks (check_kind, account_id) where lease_until is not null;
create index tasks_of_chunk on tasks (batch_id, chunk_no);

-- When a group (an MX group, a registry) has room again, and whose turn it was last.
create table task_groups (
  check_kind text not null,
  group_key text not null,
  next_at timestamptz not null,
  last_account_id text not null default '',
  primary key (check_kind, group_key)
);

-- Outcomes as they came in: each subject of a chunk and check is in exactly one part.
create table parts (
  batch_id text not null references batches (id) on delete cascade,
  chunk_no integer not null,
  check_kind text not null,
  id bigint generated always as identity,
  -- Places answered; null is all of them in order.
  indexes integer[],
  outcomes bytea not null,
  primary key (batch_id, chunk_no, check_kind, id)
);
alter table parts alter column outcomes set storage external;
