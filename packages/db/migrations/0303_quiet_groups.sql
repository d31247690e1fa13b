-- Until when nothing of a group is due, as far as that was looked up. Whatever is put into it wakes it.
alter table task_groups add column quiet_until timestamptz not null default '-infinity';
create index task_groups_awake on task_groups (quiet_until);
