-- Of which batch another one was made: a recheck asks some of its rows again, a rescore scores its outcomes by
-- other weights. The other batch may be gone by now, so it is no reference.
alter table batches
  add column origin_id text,
  add column origin_kind text check (origin_kind in ('recheck', 'rescore'));
