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

-- Where a walk through ids begins: chance picks a place between the first and the last, by the first character in
-- which they differ. Their characters are of base 62.
create or replace function place_between(first text, last text) returns text
language plpgsql volatile as $$
declare
  digits constant text := '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  at integer := 1;
  low integer;
  high integer;
begin
  if first = last then return first; end if;
  while substr(first, at, 1) = substr(last, at, 1) loop at := at + 1; end loop;
  low := greatest(1, strpos(digits, substr(first, at, 1)));
  high := greatest(low, strpos(digits, substr(last, at, 1)));
  return left(first, at - 1) || substr(digits, low + floor(random() * (high - low + 1))::int, 1)
    || substr(digits, 1 + floor(random() * 62)::int, 1) || substr(digits, 1 + floor(random() * 62)::int, 1);
end $$;

-- Batches of an account with ready tasks of a check that may go out, from a place on that chance picks, forward or
-- back: so each has its turn, however many there are, and whether they came evenly or all at once. Of canceled ones
-- tasks go out only to store what was bought.
create or replace function batches_in_turn(kind text, account text, is_bought boolean, most integer)
returns table (batch text, is_running boolean, since timestamptz) language plpgsql volatile rows 4 as $$
declare
  is_forward constant boolean := random() < 0.5;
  first text;
  last text;
  beside text;
  start text;
  wrapped boolean := false;
  found_count integer := 0;
  status text;
begin
  select t.batch_id into first from tasks t
  where t.check_kind = kind and t.account_id = account
    and t.lease_until is null and t.group_key is null and t.due_at is null
  order by t.batch_id limit 1;
  if first is null then return; end if;
  select t.batch_id into last from tasks t
  where t.check_kind = kind and t.account_id = account
    and t.lease_until is null and t.group_key is null and t.due_at is null
  order by t.batch_id desc limit 1;
  start := place_between(first, last);
  if first <> last then
    -- Once more beside the gap that the first place may lie in: a few old ones and many new ones are no even row.
    if is_forward then
      select t.batch_id into beside from tasks t
      where t.check_kind = kind and t.account_id = account and t.batch_id > start
        and t.lease_until is null and t.group_key is null and t.due_at is null
      order by t.batch_id limit 1;
      start := place_between(coalesce(beside, first), last);
    else
      select t.batch_id into beside from tasks t
      where t.check_kind = kind and t.account_id = account and t.batch_id < start
        and t.lease_until is null and t.group_key is null and t.due_at is null
      order by t.batch_id desc limit 1;
      start := place_between(first, coalesce(beside, last));
    end if;
  end if;
  batch := start;
  while found_count < most loop
    if is_forward then
      select t.batch_id into batch from tasks t
      where t.check_kind = kind and t.account_id = account and t.batch_id > batch
        and t.lease_until is null and t.group_key is null and t.due_at is null
      order by t.batch_id limit 1;
    else
      select t.batch_id into batch from tasks t
      where t.check_kind = kind and t.account_id = account and t.batch_id < batch
        and t.lease_until is null and t.group_key is null and t.due_at is null
      order by t.batch_id desc limit 1;
    end if;
    if batch is null then
      if wrapped then return; end if;
      wrapped := true;
      -- Before the first, or behind the last.
      batch := case when is_forward then '' else last || 'z' end;
    else
      if wrapped and (case when is_forward then batch > start else batch < start end) then return; end if;
      select b.status, b.created_at into status, since from batches b where b.id = batch;
      if status = 'running' or (is_bought and status = 'canceling') then
        is_running := status = 'running';
        found_count := found_count + 1;
        return next;
      end if;
    end if;
  end loop;
end $$;
