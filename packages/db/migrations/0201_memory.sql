-- Facts that workers share for a while. Unlogged: a crash of the server may empty it, as it may a cache.
create unlogged table memory_entries (
  key text primary key,
  value text not null,
  expires_at timestamptz not null
);

create index memory_entries_expiry on memory_entries (expires_at);
