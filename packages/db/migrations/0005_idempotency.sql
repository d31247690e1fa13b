-- First 2xx answers of calls that carried an Idempotency-Key. A row without `status` is a call that runs;
-- `op_key` names the run that holds the key, so that a run that lost it cannot write its answer.
create table idempotency_keys (
  account_id text not null,
  mode text not null check (mode in ('live', 'test')),
  path text not null,
  key text not null check (length(key) between 1 and 255),
  fingerprint bytea not null,
  op_key text not null,
  claimed_at timestamptz not null,
  expires_at timestamptz not null,
  status integer,
  location text,
  -- Emptied with the batch it shows: it is then the empty text, which no answer is.
  body text,
  batch_id text,
  primary key (account_id, mode, path, key),
  check ((status is null) = (body is null))
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

create index idempotency_keys_expiry on idempotency_keys (expires_at);
create index idempotency_keys_batch on idempotency_keys (batch_id) where batch_id is not null;
