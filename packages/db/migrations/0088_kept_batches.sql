-- outside a transaction
-- What an account has in work and in files is read before each new batch: from these alone, whatever it keeps.
create index concurrently if not exists batches_unfinished on batches (account_id)
  where status in ('analyzing', 'ready', 'running', 'paused', 'finalizing', 'canceling')
    and not is_lookup and erasing is distinct from 'all' and sample_of is null;
create index concurrently if not exists batches_with_files on batches (account_id) include (file_bytes, result_bytes)
  where status not in ('failed', 'expired') and erasing is distinct from 'all' and sample_of is null;
