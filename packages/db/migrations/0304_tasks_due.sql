-- Until when the last task of a list waits; its owner is told, however often he asks.
create index tasks_due on tasks (batch_id, due_at) where due_at is not null;
