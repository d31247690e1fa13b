-- outside a transaction
-- Files of an account's batches, without those of lookups: each of these is small and paid for, and there are millions.
create index concurrently if not exists batches_files on batches (account_id) include (file_bytes, result_bytes)
  where status not in ('failed', 'expired') and not is_lookup
    and erasing is distinct from 'all' and sample_of is null;
drop index concurrently if exists batches_with_files;
-- Messages of one state among many of others.
create index concurrently if not exists webhook_deliveries_by_status
  on webhook_deliveries (endpoint_id, status, created_at desc, id desc);
-- Receipts of erasures stay until the account is closed.
create index concurrently if not exists erasures_page on erasures (account_id, mode, created_at desc, id desc);
create index concurrently if not exists erasures_under_way on erasures (account_id) where status = 'running';
