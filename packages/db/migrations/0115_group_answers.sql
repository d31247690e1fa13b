-- How many subjects of a batch were answered at the pace of a group, from when the group first had no room: its pace
-- tells how long what waits for it will last.
create table group_answers (
  batch_id text not null references batches (id) on delete cascade,
  check_kind text not null,
  group_key text not null,
  answered bigint not null,
  primary key (batch_id, check_kind, group_key)
) with (fillfactor = 50);
