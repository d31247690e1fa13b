-- What a batch holds, as it is shown before it costs anything: its columns and first rows, and what was met in
-- all rows once they were counted. Its reading's fencing number tells it from that of an earlier reading.
create table batch_previews (
  batch_id text primary key references batches (id) on delete cascade,
  lease integer not null,
  head jsonb not null,
  counts jsonb
);
-- How often it was changed after it was read: each change reads the file again, for free.
alter table batches add column change_count integer not null default 0;
