-- outside a transaction
drop index concurrently if exists credit_entries_listed;

-- The ledger of an account is read newest first, page by page.
create index concurrently credit_entries_listed on credit_entries (account_id, id);
