-- Accounts with ready tasks of a check, in turn: those after one first, then from the beginning. An index is
-- stepped through from account to account, so that it costs nothing how many tasks each has. Accounts whose
-- batches all rest are passed over: they would take the places of others. Who has nothing leased goes first, so
-- that no more are looked for once there are as many of these as tasks may go out.
create or replace function accounts_in_turn(kind text, after text, is_bought boolean, most integer,
  busy text[], room integer)
returns table (account text, place integer) language plpgsql stable rows 16 as $$
declare
  wrapped boolean := false;
  free_count integer := 0;
begin
  account := after;
  place := 0;
  while place < most and free_count < room loop
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
      if exists (select from batches_in_turn(kind, account, is_bought, 1))
        and (is_bought or exists (
          select from accounts a where a.id = accounts_in_turn.account and a.status = 'active')) then
        place := place + 1;
        if account <> all(busy) then free_count := free_count + 1; end if;
        return next;
      end if;
    end if;
  end loop;
end $$;

-- Batches of an account with ready tasks of a check that may go out, from one on that chance picks: so each
-- has its turn, however many there are. Of canceled ones tasks go out only to store what was bought.
create or replace function batches_in_turn(kind text, account text, is_bought boolean, most integer)
returns table (batch text, is_running boolean, since timestamptz) language plpgsql volatile rows 4 as $$
declare
  start text := 'bat_' || substr('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
    1 + floor(random() * 62)::int, 1);
  wrapped boolean := false;
  found_count integer := 0;
  status text;
begin
  batch := start;
  while found_count < most loop
    select t.batch_id into batch from tasks t
    where t.check_kind = kind and t.account_id = account and t.batch_id > batch
      and t.lease_until is null and t.group_key is null and t.due_at is null
    order by t.batch_id limit 1;
    if batch is null then
      if wrapped then return; end if;
      wrapped := true;
      batch := '';
    else
      if wrapped and batch > start then return; end if;
      select b.status, b.created_at into status, since from batches b where b.id = batch;
      if status = 'running' or (is_bought and status = 'canceling') then
        is_running := status = 'running';
        found_count := found_count + 1;
        return next;
      end if;
    end if;
  end loop;
end $$;
