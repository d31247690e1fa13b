-- Messages on their way out, written in the transaction of what they tell. One that was taken by the mail server is
-- deleted; `sealed` is the message itself, encrypted under the installation's key, since links in it are secrets.
create table mails (
  id bigint generated always as identity primary key,
  -- One message for each of these, however often it is asked for.
  once_key text unique,
  kind text not null check (length(kind) between 1 and 50),
  sealed text not null,
  created_at timestamptz not null default now(),
  -- It is of no use afterwards, and given up.
  expires_at timestamptz not null,
  attempts integer not null default 0,
  next_at timestamptz not null default now(),
  -- What kept it from being sent the last time, for the operator; no address.
  fault text
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
create index mails_next on mails (next_at);

-- Once keys of what was sent, so that nothing is told twice.
create table mails_told (
  once_key text primary key,
  told_at timestamptz not null default now()
);
create index mails_told_age on mails_told (told_at);
