-- Whether a worker has claimed the task since it was leased. Until then its job waits in a queue, and the task
-- is not handed out again while it does; leases of before this column count as claimed.
alter table tasks add column claimed boolean not null default true;
-- The task of the group that is out, and whether the group may go out whole: who tried it found room.
alter table task_groups add column out_task bigint;
alter table task_groups add column opened boolean not null default false;
create index task_groups_out on task_groups (out_task) where out_task is not null;
create index task_groups_opened on task_groups (check_kind) where opened;
-- What one process at a time does (to dispatch), who does it, and until when it does without a word.
create table duties (
  name text primary key,
  holder text not null,
  held_until timestamptz not null
);
