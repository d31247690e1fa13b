-- outside a transaction
-- As tasks_small, by batch, so that the dispatcher passes over the tasks of paused batches.
create index concurrently if not exists tasks_small_of_batch on tasks (check_kind, account_id, batch_id)
  where lease_until is null and group_key is null and due_at is null and size <= 100;
drop index concurrently if exists tasks_small;
