-- A batch that its owner has put to rest: nothing is handed out for it until it goes on, by itself at `resumes_at`.
alter table batches drop constraint batches_known_status;
alter table batches add constraint batches_known_status check (status in (
  'analyzing', 'ready', 'running', 'paused', 'finalizing', 'completed', 'canceling', 'canceled', 'failed',
  'expired'));
alter table batches add column resumes_at timestamptz;
-- Milliseconds that it has rested in all, which count for no forecast.
alter table batches add column paused_ms bigint not null default 0;
create index batches_resuming on batches (resumes_at) where resumes_at is not null;
