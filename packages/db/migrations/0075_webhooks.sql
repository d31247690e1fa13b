-- Where accounts want to be told of events. Secrets are encrypted under the installation's key.
create table webhook_endpoints (
  id text primary key check (id ~ '^whk_[A-Za-z0-9]{16}$'),
  account_id text not null references accounts on delete cascade,
  url text not null check (length(url) <= 1000),
  events text[] not null check (cardinality(events) > 0),
  secret text not null,
  -- The secret of before, and until when it signs beside the new one.
  old_secret text,
  old_secret_until timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  disabled_at timestamptz,
  disabled_reason text check (disabled_reason in ('gone', 'failing', 'by_request')),
  -- Since when no delivery has arrived; null where the last one has.
  failing_since timestamptz,
  -- Owners are told once that it was switched off.
  owners_told_at timestamptz,
  check ((disabled_at is null) = (disabled_reason is null)),
  check ((old_secret is null) = (old_secret_until is null))
);
create index webhook_endpoints_account on webhook_endpoints (account_id, created_at);

-- What happened, written in the transaction in which it did, until a message is made of it for each endpoint.
create table webhook_events (
  id bigint generated always as identity primary key,
  account_id text not null,
  type text not null,
  -- The id of what it is about: of a batch, lookup or key; empty for the account itself.
  subject text not null,
  happened_at timestamptz not null default clock_timestamp()
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);

-- Messages, one row for each endpoint that is told.
create table webhook_deliveries (
  id text primary key check (id ~ '^dlv_[A-Za-z0-9]{16}$'),
  endpoint_id text not null references webhook_endpoints on delete cascade,
  -- Constant over attempts, replays and endpoints: a receiver tells repeats by it.
  webhook_id text not null,
  type text not null,
  subject text not null,
  body text not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
  created_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  -- Of a message under way it is when another worker may take it for lost.
  due_at timestamptz not null default clock_timestamp(),
  attempted_at timestamptz,
  duration_ms integer,
  url text,
  response_status integer,
  response_body text,
  error text
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
create index webhook_deliveries_due on webhook_deliveries (endpoint_id, due_at) where status = 'pending';
create index webhook_deliveries_next on webhook_deliveries (due_at) where status = 'pending';
create index webhook_deliveries_page on webhook_deliveries (endpoint_id, created_at desc, id desc);
create index webhook_deliveries_age on webhook_deliveries (created_at);
create index webhook_deliveries_subject on webhook_deliveries (subject);
