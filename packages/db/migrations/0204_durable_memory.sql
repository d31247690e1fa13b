-- Shared facts that cost money to forget: logged, so that they outlive a crash of the server.
create table durable_entries (
  key text primary key,
  value text not null,
  expires_at timestamptz not null
);

create index durable_entries_expiry on durable_entries (expires_at);
