-- Facts that workers share for a while. Unlogged: a crash of the server may empty it, as it may a cache.
create unlogged table memory_entries (
  key text primary key,
  value text not null,
  expires_at timestamptz not null
);

create index memory_entries_expiry on memory_entries (expires_at);

-- Shared facts that cost money to forget: logged, so that they outlive a crash of the server.
create table durable_entries (
  key text primary key,
  value text not null,
  expires_at timestamptz not null
);

create index durable_entries_expiry on durable_entries (expires_at);

-- Buckets by the generic cell rate algorithm: the moment, in microseconds of the epoch, at which each
-- is full again.
create unlogged table rate_buckets (
  key text primary key,
  full_at double precision not null
) with (fillfactor = 50);

create index rate_buckets_full on rate_buckets (full_at);

create unlogged table leases (
  key text not null,
  holder uuid not null,
  expires_at timestamptz not null,
  primary key (key, holder)
);

create index leases_expiry on leases (expires_at);

-- What was spent of each budget on each UTC day. Logged: a crash must not make room for more.
create table budgets (
  name text not null,
  day date not null,
  spent bigint not null,
  primary key (name, day)
);

-- What was sent to a process and may not have been received. Dropped by its reader, or after a minute.
create unlogged table live_replies (
  reply_to text not null,
  id bigint generated always as identity,
  body text not null,
  sent_at timestamptz not null default now(),
  primary key (reply_to, id)
);

create index live_replies_sent on live_replies (sent_at);

-- What each worker process last said of itself, by what it serves. Unlogged: it says it again within a minute.
create unlogged table workers (
  name text not null,
  kind text not null,
  health jsonb not null,
  seen_at timestamptz not null default clock_timestamp(),
  primary key (name, kind)
);
