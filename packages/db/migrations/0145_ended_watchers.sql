-- When the batch of a watcher ended; triggers set it.
alter table batch_watchers add column ended_at timestamptz;
