-- Tables of weights by the version that their content gives: a batch is scored by the one that it started
-- with, in every form of its results, whatever weights the processes have by then.
create table score_weights (
  version text primary key,
  groups jsonb not null,
  created_at timestamptz not null default now()
);

-- Batches. The states and their moves are in the contract; `ats` holds when each was reached.
create table batches (
  id text primary key,
  account_id text not null references accounts (id),
  mode text not null check (mode in ('live', 'test')),
  product text not null,
  name text,
  -- A state that the service does not know would leave a batch where no stage looks for it.
  status text not null constraint batches_known_status check (status in (
    'analyzing', 'ready', 'running', 'finalizing', 'completed', 'canceling', 'canceled', 'failed', 'expired')),
  explain boolean not null,
  -- Whether records that end as unknown are charged; fixed when the batch came.
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
  -- Whether rows hold something that has no column: the result has one more then.
  has_rest boolean not null default false,
  mapping jsonb not null default '{}',
  -- Whether every row of the batch stands in chunks.
  read_whole boolean not null default false,
  rows_total bigint not null default 0,
  rows_blank bigint not null default 0,
  rows_refused bigint not null default 0,
  rows_duplicate bigint not null default 0,
  rows_billable bigint not null default 0,
  -- Those of the rows that nobody pays for that are counted, so that a batch read again counts once.
  rows_unpaid bigint not null default 0,
  -- The table of weights it is scored by; null until it starts.
  weights text references score_weights (version),
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
  -- The stage in hand (reading the rows, writing the result): its fencing number and lease.
  lease integer not null default 0,
  lease_until timestamptz,
  stage_attempts integer not null default 0,
  created_at timestamptz not null default clock_timestamp()
);
create index batches_by_account on batches (account_id, mode, created_at desc, id desc);
create index batches_open on batches (status)
  where status in ('analyzing', 'running', 'finalizing', 'canceling');
create index batches_expiring on batches (expires_at) where expires_at is not null;

-- A run of rows of a batch. `cells` is what came, `subjects` what is asked; both compressed JSON.
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
  -- Records answered whole when a cancel settled the chunk; null where it was settled in full.
  done_count integer,
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
  -- Positions in the chunk's subjects of this check; null is all of them.
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
-- Until when the last task of a batch waits; its owner is told, however often he asks.
create index tasks_due on tasks (batch_id, due_at) where due_at is not null;

-- When a group (an MX group, a registry) has room again, and which account was served last.
create table task_groups (
  check_kind text not null,
  group_key text not null,
  next_at timestamptz not null,
  last_account_id text not null default '',
  -- Until when nothing of the group is due, as far as that was looked up. Whatever is put into it ends that.
  quiet_until timestamptz not null default '-infinity',
  primary key (check_kind, group_key)
);

create index task_groups_awake on task_groups (quiet_until);

-- Outcomes as they came in: each subject of a chunk and check is in exactly one part.
create table parts (
  batch_id text not null references batches (id) on delete cascade,
  chunk_no integer not null,
  check_kind text not null,
  id bigint generated always as identity,
  -- Positions answered; null is all of them in order.
  indexes integer[],
  outcomes bytea not null,
  primary key (batch_id, chunk_no, check_kind, id)
);
alter table parts alter column outcomes set storage external;

-- One bit a row, set where a later row repeats it: 625 KB for the longest batch, so it stands beside its row.
create table repeated_rows (
  batch_id text primary key references batches (id) on delete cascade,
  bits bytea not null
);

-- Rows of batches that nobody pays for (of test keys, repeats, blank and refused ones), of each account on
-- the last UTC day that had any.
create table unpaid_rows (
  account_id text primary key references accounts,
  day date not null,
  row_count bigint not null check (row_count >= 0)
);
