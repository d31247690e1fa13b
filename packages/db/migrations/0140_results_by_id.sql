-- outside a transaction
-- Batches with a result file in order of their ids: rows of expired batches are kept, and become many more with time.
create index concurrently if not exists batches_with_result on batches (id)
  where result_key is not null and erasing is null;
