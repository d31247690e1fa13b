-- outside a transaction
create index concurrently if not exists batches_large on batches (id)
  where rows_total >= 100000 and status in ('running', 'paused', 'finalizing', 'canceling');
