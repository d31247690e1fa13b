-- outside a transaction
-- Pages of batches stay cheap beside any number of lookups.
create index concurrently if not exists batches_listed on batches (account_id, mode, created_at desc, id desc)
  where not is_lookup;
create index concurrently if not exists lookups_open on batches (account_id)
  where is_lookup and status in ('running', 'finalizing');
