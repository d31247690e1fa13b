-- outside a transaction
-- Who watches a batch that has ended: few of those who watch one that has not.
create index concurrently if not exists batch_watchers_ended on batch_watchers (ended_at) where ended_at is not null;
