-- Moves of credits, one call each. Locks are always taken in this order: rows of credit_unanswered, a hold,
-- then rows of credit_accounts by account_id.
-- Index scans are forced because a plan made for a small table would still be used when it is large.
-- Common table expressions are not joined with each other: with index scans forced, that would compare every row
-- with every other. The plan is made once for each connection: for a few rows, planning took longer than running.

-- Makes debits of any number of accounts, in the order given. One is granted if the balance pays for it and for
-- all debits of the same account before it. One that was refused only because of a larger one before it (its
-- credits are within `available`) is tried again by the caller.
-- status: granted, short, repeat (made before), refunded (made before, then refunded), conflict (made before, of
-- other credits), unknown (no such account). room: what the account's daily limit still allows; null without one.
create or replace function credit_debit(
  accounts text[], op_keys text[], asked bigint[], products text[], sources text[])
returns table (status text, available bigint, room bigint)
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
begin
  perform 1 from (
    select account_id from credit_accounts where account_id = any (accounts)
    order by account_id for no key update) locked;
  perform credit_roll(account_id) from credit_accounts
    where account_id = any (accounts) and period_end <= now();
  perform credit_turn_day(account_id) from credit_accounts
    where account_id = any (accounts) and credit_day_is_over(day_end);
  return query
  with judged as materialized (
    select a.n, a.account_id, a.op_key, a.credits, a.product, a.source, c.allowance, c.packs,
      c.period_no, c.day,
      case when c.daily_limit is not null then greatest(0, c.daily_limit - c.spent) end as room,
      (select -(e.allowance_delta + e.packs_delta) from credit_entries e
        where e.account_id = a.account_id and e.op_key = a.op_key and e.kind = 'debit') as before
    from unnest(accounts, op_keys, asked, products, sources) with ordinality
      as a (account_id, op_key, credits, product, source, n)
    left join credit_accounts c on c.account_id = a.account_id
  ), summed as materialized (
    select j.*, coalesce(sum(j.credits) filter (where j.before is null)
      over (partition by j.account_id order by j.n), 0)::bigint as upto
    from judged j
  ), bounded as materialized (
    select s.*, s.upto <= s.allowance + s.packs and s.upto <= coalesce(s.room, s.upto) as within
    from summed s
  ), weighed as materialized (
    select s.*, s.before is null and s.within as fits,
      coalesce(sum(s.credits) filter (where s.before is null and s.within)
        over (partition by s.account_id), 0)::bigint as taken
    from bounded s
  ), admitted as materialized (
    select w.account_id, w.op_key, w.period_no, w.credits, w.product, w.source, w.day,
      least(w.allowance, w.upto) - least(w.allowance, w.upto - w.credits) as from_allowance
    from weighed w where w.fits
  ), entries as (
    insert into credit_entries
      (account_id, op_key, kind, allowance_delta, packs_delta, held_delta, period_no, product,
        source, used_on)
    select d.account_id, d.op_key, 'debit', -d.from_allowance, d.from_allowance - d.credits, 0,
      d.period_no, d.product, d.source, d.day
    from admitted d
  ), waiting as (
    insert into credit_unanswered (account_id, op_key)
    select d.account_id, d.op_key from admitted d
  ), used as (
    insert into credit_usage as u (account_id, day, product, source, operations, credits)
    select d.account_id, d.day, d.product, d.source, count(*), sum(d.credits)::bigint
    from admitted d where d.product is not null
    group by d.account_id, d.day, d.product, d.source
    on conflict (account_id, day, product, source, ref) do update
      set operations = u.operations + excluded.operations, credits = u.credits + excluded.credits
  ), paid as (
    update credit_accounts c set allowance = c.allowance - t.allowance, packs = c.packs - t.packs,
      spent = c.spent + t.allowance + t.packs
    from (select d.account_id, sum(d.from_allowance)::bigint as allowance,
        sum(d.credits - d.from_allowance)::bigint as packs
      from admitted d group by d.account_id) t
    where c.account_id = t.account_id
  )
  select case
      when w.allowance is null then 'unknown'
      when w.fits then 'granted'
      when w.before is null then 'short'
      when w.before <> w.credits then 'conflict'
      when exists (select from credit_entries e where e.account_id = w.account_id
        and e.op_key = w.op_key and e.kind = 'refund') then 'refunded'
      else 'repeat' end,
    w.allowance + w.packs - case when w.within then w.upto else w.taken end,
    w.room - case when w.within then w.upto else w.taken end
  from weighed w
  order by w.n;
end $$;

-- Makes all debits of one account, and returns its balance before them. The debits of a busy account are usually
-- all new and all within its balance; most of the cost of `credit_debit` would be to judge each of them.
-- Makes none and returns null if they must be judged by `credit_debit`: the cycle or the day is over, neither
-- allowance nor packs alone pay for all, they exceed the daily limit, one was made before, or there is no such
-- account.
create or replace function credit_debit_one(
  payer text, op_keys text[], asked bigint[], products text[], sources text[])
returns bigint
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  balance credit_accounts;
  total bigint := 0;
  credits bigint;
  allows boolean;
begin
  select * into balance from credit_accounts where account_id = payer for no key update;
  foreach credits in array asked loop total := total + credits; end loop;
  allows := total <= balance.allowance;
  if balance.period_end > now() and not credit_day_is_over(balance.day_end)
    and (allows or balance.allowance = 0 and total <= balance.packs)
    and (balance.daily_limit is null or balance.spent + total <= balance.daily_limit)
    -- Each key by itself: for `op_key = any (op_keys)`, a plan made for a small ledger reads all of the account's
    -- entries.
    and not exists (select from unnest(op_keys) as a (op_key)
      where (select true from credit_entries e
        where e.account_id = payer and e.op_key = a.op_key and e.kind = 'debit'))
  then
    insert into credit_entries
      (account_id, op_key, kind, allowance_delta, packs_delta, held_delta, period_no, product, source,
        used_on)
    select payer, a.op_key, 'debit', case when allows then -a.credits else 0 end,
      case when allows then 0 else -a.credits end, 0, balance.period_no, a.product, a.source,
      balance.day
    from unnest(op_keys, asked, products, sources) as a (op_key, credits, product, source);
    insert into credit_unanswered (account_id, op_key) select payer, unnest(op_keys);
    insert into credit_usage as u (account_id, day, product, source, operations, credits)
    select payer, balance.day, a.product, a.source, count(*), sum(a.credits)::bigint
    from unnest(asked, products, sources) as a (credits, product, source)
    where a.product is not null
    group by a.product, a.source
    on conflict (account_id, day, product, source, ref) do update
      set operations = u.operations + excluded.operations, credits = u.credits + excluded.credits;
    update credit_accounts c set
      allowance = c.allowance - case when allows then total else 0 end,
      packs = c.packs - case when allows then 0 else total end,
      spent = c.spent + total
    where c.account_id = payer;
    return balance.allowance + balance.packs;
  end if;
  return null;
end $$;

-- For processes of the previous version: without product and source, the debit is not counted in usage.
create or replace function credit_debit(accounts text[], op_keys text[], asked bigint[])
returns table (status text, available bigint)
language sql as $$
  select d.status, d.available from credit_debit(accounts, op_keys, asked,
    array_fill(null::text, array[cardinality(asked)]),
    array_fill(null::text, array[cardinality(asked)])) d
$$;

create or replace function credit_debit_one(payer text, op_keys text[], asked bigint[]) returns bigint
language sql as $$
  select credit_debit_one(payer, op_keys, asked, array_fill(null::text, array[cardinality(asked)]),
    array_fill(null::text, array[cardinality(asked)]))
$$;
