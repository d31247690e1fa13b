-- Who this database is to a store of files, which may outlive it or be shared by mistake. One row, made with
-- the first use of a store.
create table file_store_owner (
  only_row boolean primary key default true check (only_row),
  id text not null check (id ~ '^ins_[A-Za-z0-9]{22}$'),
  created_at timestamptz not null default now()
);

-- Files of ours that are to go: noted in the transaction that gives them up, until the store confirms it.
create table file_removals (
  key text primary key,
  asked_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  next_at timestamptz not null default clock_timestamp()
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
create index file_removals_due on file_removals (next_at);

-- Files of our form in our store that no batch names, and since when that is known. Not by the age of the
-- file: after the restore of a backup all that is newer than it would be old enough at once.
create table stray_files (
  key text primary key,
  seen_at timestamptz not null default clock_timestamp()
);
create index stray_files_seen on stray_files (seen_at);
