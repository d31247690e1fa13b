-- Counts the unpaid rows of a batch read so far (`met`) against its account's limit for today (`most`). Returns
-- `taken`, `over` if they exceed the limit, or `lost` if the fencing number no longer owns the batch.
create or replace function take_unpaid_rows(batch text, lease_no integer, met bigint, most bigint) returns text
language plpgsql as $$
declare
  today date := (clock_timestamp() at time zone 'utc')::date;
  owner text;
  fresh bigint;
  before bigint;
begin
  select b.account_id, met - b.rows_unpaid into owner, fresh
  from batches b where b.id = batch and b.lease = lease_no for no key update;
  if not found then return 'lost'; end if;
  if fresh <= 0 then return 'taken'; end if;
  insert into unpaid_rows (account_id, day, row_count) values (owner, today, 0) on conflict do nothing;
  select case when u.day = today then u.row_count else 0 end into before
  from unpaid_rows u where u.account_id = owner for update;
  update unpaid_rows u set day = today, row_count = greatest(before, least(most, before + fresh))
  where u.account_id = owner;
  -- The rows of a refused batch stay uncounted, so that it is refused again if it is read again.
  if before + fresh > most then return 'over'; end if;
  update batches b set rows_unpaid = met where b.id = batch;
  return 'taken';
end
$$;
