-- Accounts with ready tasks of a check, in turn: those after one first, then from the beginning. An index is
-- stepped through from account to account, so that it costs nothing how many tasks each has.
create or replace function accounts_in_turn(kind text, after text, most integer)
returns table (account text, place integer) language plpgsql stable as $$
declare
  wrapped boolean := false;
begin
  account := after;
  place := 0;
  while place < most loop
    select t.account_id into account from tasks t
    where t.check_kind = kind and t.account_id > account
      and t.lease_until is null and t.group_key is null and t.due_at is null
    order by t.account_id limit 1;
    if account is null then
      if wrapped then return; end if;
      wrapped := true;
      account := '';
    else
      if wrapped and account > after then return; end if;
      place := place + 1;
      return next;
    end if;
  end loop;
end $$;

-- Batches of an account with ready tasks of a check.
create or replace function batches_with_tasks(kind text, account text, most integer)
returns setof text language plpgsql stable as $$
declare
  batch text := '';
begin
  for _ in 1..most loop
    select t.batch_id into batch from tasks t
    where t.check_kind = kind and t.account_id = account and t.batch_id > batch
      and t.lease_until is null and t.group_key is null and t.due_at is null
    order by t.batch_id limit 1;
    if batch is null then return; end if;
    return next batch;
  end loop;
end $$;
