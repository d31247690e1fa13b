-- Who is told by mail when a batch has ended: the person who handed it in. Gone with the message.
create table batch_watchers (
  batch_id text primary key references batches on delete cascade,
  user_id text not null references users on delete cascade,
  created_at timestamptz not null default now()
);
create index batch_watchers_user on batch_watchers (user_id);
