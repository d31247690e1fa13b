-- Tables of weights by the version that their content gives: a batch is scored by the one that it started
-- with, in every form of its results, whatever weights the processes have by then.
create table score_weights (
  version text primary key,
  groups jsonb not null,
  created_at timestamptz not null default now()
);

-- Null until a batch starts, and for those that started before there was such a table.
alter table batches add column weights text references score_weights (version);
