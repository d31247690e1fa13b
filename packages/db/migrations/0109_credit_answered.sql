-- Nearly every debit ends as it was taken: answered, with nothing to give back. All that is to be done
-- then is to forget that it waits, which needs no look at the ledger.

-- Ends the waiting of debits and says of how many; `credit_close` knows what became of the others.
create function credit_answered(accounts text[], op_keys text[]) returns integer
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  ended integer;
begin
  delete from credit_unanswered u using unnest(accounts, op_keys) as a (account_id, op_key)
  where u.account_id = a.account_id and u.op_key = a.op_key;
  get diagnostics ended = row_count;
  return ended;
end $$;
