-- outside a transaction
-- Accounts with batches whose tasks may be dispatched, so that the dispatcher can pass over all others at once.
create index concurrently if not exists batches_dispatched on batches (account_id)
  where status in ('running', 'canceling');
