-- outside a transaction
-- The due tasks of a batch and check that wait in groups: another check of the batch may have very many.
create index concurrently if not exists tasks_due_by_check on tasks (batch_id, check_kind, due_at)
  where lease_until is null and group_key is not null;
