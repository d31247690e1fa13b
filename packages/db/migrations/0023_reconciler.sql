-- What should not be, since when it is seen, and how often which kind of it was put right.
create table reconciler_findings (
  kind text not null,
  subject text not null,
  seen_at timestamptz not null default clock_timestamp(),
  primary key (kind, subject)
);
create table reconciler_counts (
  kind text primary key,
  healed_count bigint not null
);
