-- What each worker process last said of itself, by what it serves. Unlogged: it says it again within a minute.
create unlogged table workers (
  name text not null,
  kind text not null,
  health jsonb not null,
  seen_at timestamptz not null default clock_timestamp(),
  primary key (name, kind)
);
