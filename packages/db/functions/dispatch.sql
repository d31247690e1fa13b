-- Up to `most` accounts with ready tasks of a check, in order of their ids: first those after the account `after`,
-- then from the beginning. Each step is one index look-up of the next account, so the cost does not depend on how
-- many tasks each has. Accounts without a batch to dispatch from are passed over in one step, however many follow each
-- other; inactive ones are skipped, unless what was bought for a canceled batch is still to be stored. The caller serves
-- accounts without leased tasks (not in `busy`) first, so the search ends once `room` of them are found.
create or replace function accounts_in_turn(kind text, after text, is_bought boolean, most integer,
  busy text[], room integer)
returns table (account text, place integer) language plpgsql stable rows 16 as $$
declare
  -- No account before this one is looked for.
  beginning text := '';
  wrapped boolean := false;
  free_count integer := 0;
begin
  account := after;
  place := 0;
  while place < most and free_count < room loop
    select t.account_id into account from tasks t
    where t.check_kind = kind and t.account_id > account and t.account_id >= beginning
      and t.lease_until is null and t.group_key is null and t.due_at is null
    order by t.account_id limit 1;
    if account is not null then
      if wrapped and account > after then return; end if;
      if not exists (select from batches_in_turn(kind, account, is_bought, 1)) then
        select b.account_id into beginning from batches b
        where b.account_id > account and b.status in ('running', 'canceling') and (b.status = 'running' or is_bought)
        order by b.account_id limit 1;
      elsif exists (select from accounts a where a.id = accounts_in_turn.account and a.status = 'active')
          or (is_bought and exists (
            select from batches b where b.account_id = accounts_in_turn.account and b.status = 'canceling'
              and exists (select from tasks t
                where t.check_kind = kind and t.account_id = b.account_id and t.batch_id = b.id
                  and t.lease_until is null and t.group_key is null and t.due_at is null))) then
        place := place + 1;
        if account <> all(busy) then free_count := free_count + 1; end if;
        return next;
      end if;
    end if;
    if account is null or beginning is null then
      if wrapped then return; end if;
      wrapped := true;
      account := '';
      beginning := '';
    end if;
  end loop;
end $$;

-- A random id between the first and the last, to start an index walk from: it varies the first character in which
-- the two differ and adds two more. Ids are in base 62.
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

-- Up to `most` batches of an account with ready tasks of a check that may be dispatched, from a random id on,
-- forward or backward. So each is chosen sooner or later, however many there are and whenever they were created.
-- Of canceled batches, tasks are dispatched only for a purchased check, to store what was bought.
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
  if first = last then
    -- Nearly all accounts have one batch, and this runs for each account whose batch is paused.
    select b.id, b.status = 'running', b.created_at into batch, is_running, since from batches b
    where b.id = first and (b.status = 'running' or (is_bought and b.status = 'canceling'));
    if found then return next; end if;
    return;
  end if;
  start := place_between(first, last);
  -- The random id may lie in a large gap, as between a few old batches and many new ones, and the batch after the
  -- gap would be chosen too often. So the start is chosen again among the ids after it (or before, if backward).
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
      -- Before the first id, or after the last.
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

-- Due groups of a check, those due longest first, until `most` of them have a task to dispatch: that of the account
-- after the one which the group served last. If only the reserve is free (`is_reserve`), only accounts without leased
-- tasks (not in `busy`) are served, and groups without one are left out: eight at most, as `advanceGroups` brings the
-- others forward. Groups without a task that may be dispatched are returned with none, so that they can be skipped for
-- a while; 64 groups are looked at.
create or replace function groups_in_turn(kind text, most integer, is_reserve boolean, busy text[])
returns table (group_key text, version xid, is_out boolean, task bigint, account text)
language plpgsql stable rows 4 as $$
declare
  due record;
  wrapped boolean;
  is_wanted boolean;
  found_count integer := 0;
  left_out_count integer := 0;
begin
  for due in
    select g.group_key, g.last_account_id, g.xmin as version, exists (
      select from tasks l where l.id = g.out_task and l.lease_until is not null) as is_out
    from task_groups g
    where g.check_kind = kind and greatest(g.next_at, g.quiet_until) <= now() and not g.opened
    order by greatest(g.next_at, g.quiet_until) limit 64
  loop
    group_key := due.group_key;
    version := due.version;
    is_out := due.is_out;
    task := null;
    account := due.last_account_id;
    wrapped := false;
    is_wanted := true;
    while not is_out loop
      select t.account_id into account from tasks t
      where t.check_kind = kind and t.group_key = due.group_key and t.account_id > account
        and t.lease_until is null
      order by t.account_id limit 1;
      if account is null then
        exit when wrapped;
        wrapped := true;
        account := '';
        continue;
      end if;
      exit when wrapped and account > due.last_account_id;
      continue when not exists (select from accounts a
        where a.id = groups_in_turn.account and a.status = 'active');
      select t.id into task from tasks t
      where t.check_kind = kind and t.group_key = due.group_key and t.account_id = account
        and t.lease_until is null and t.due_at <= now()
        and exists (select from batches b where b.id = t.batch_id and b.status = 'running')
      order by t.id limit 1;
      continue when task is null;
      is_wanted := not is_reserve or account <> all(busy);
      exit when is_wanted;
    end loop;
    if is_wanted then
      return next;
      if task is not null then found_count := found_count + 1; end if;
    else
      left_out_count := left_out_count + 1;
    end if;
    exit when found_count = most or left_out_count = 8;
  end loop;
end $$;

-- Up to `most` small ready tasks of a check, each of another active account without leased tasks (not in `busy`). The
-- accounts are walked from a random one on; 100 are looked at, since the batches of many may be paused. Each running
-- batch of an account is looked up, so the cost does not depend on how many tasks a paused one has.
create or replace function small_tasks(kind text, most integer, busy text[])
returns table (task bigint, account text) language plpgsql volatile rows 4 as $$
declare
  first text;
  last text;
  start text;
  wrapped boolean := false;
  found_count integer := 0;
begin
  select t.account_id into first from tasks t
  where t.check_kind = kind and t.size <= 100
    and t.lease_until is null and t.group_key is null and t.due_at is null
  order by t.account_id limit 1;
  if first is null then return; end if;
  select t.account_id into last from tasks t
  where t.check_kind = kind and t.size <= 100
    and t.lease_until is null and t.group_key is null and t.due_at is null
  order by t.account_id desc limit 1;
  start := place_between(first, last);
  account := start;
  for step in 1..100 loop
    select t.account_id into account from tasks t
    where t.check_kind = kind and t.account_id > account and t.size <= 100
      and t.lease_until is null and t.group_key is null and t.due_at is null
    order by t.account_id limit 1;
    if account is null then
      exit when wrapped;
      wrapped := true;
      account := '';
      continue;
    end if;
    exit when wrapped and account > start;
    continue when account = any(busy) or not exists (select from accounts a
      where a.id = small_tasks.account and a.status = 'active');
    select t.id into task from batches b cross join lateral (
      select ready.id from tasks ready
      where ready.check_kind = kind and ready.account_id = b.account_id and ready.batch_id = b.id
        and ready.size <= 100 and ready.lease_until is null and ready.group_key is null and ready.due_at is null
      limit 1) t
    where b.account_id = account and b.status = 'running' limit 1;
    continue when task is null;
    return next;
    found_count := found_count + 1;
    exit when found_count = most;
  end loop;
end $$;
