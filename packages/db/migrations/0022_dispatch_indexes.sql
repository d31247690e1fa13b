-- outside a transaction
create index concurrently if not exists tasks_ready on tasks (check_kind, account_id, batch_id, chunk_no)
  where lease_until is null and group_key is null and due_at is null;
create index concurrently if not exists tasks_resting on tasks (due_at)
  where lease_until is null and group_key is null and due_at is not null;
create index concurrently if not exists task_groups_ready
  on task_groups (check_kind, greatest(next_at, quiet_until));
drop index concurrently if exists tasks_pending;
drop index concurrently if exists task_groups_awake;
