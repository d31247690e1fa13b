-- outside a transaction
-- When an account's erasures last had a turn, so that accounts can be served in turn.
create index concurrently if not exists erasures_turns on erasures (account_id, lease_until);
