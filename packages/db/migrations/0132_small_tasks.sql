-- outside a transaction
-- The ready tasks of short batches, for which a part of the reserve is kept.
create index concurrently if not exists tasks_small on tasks (check_kind, account_id)
  where lease_until is null and group_key is null and due_at is null and size <= 100;
