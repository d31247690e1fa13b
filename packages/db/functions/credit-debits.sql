-- The moves of credits, each one call. Locks are always taken in this order: rows of
-- credit_unanswered, a hold, then rows of credit_accounts by account_id.
-- Index scans are forced because a plan made while a table was small would outlive its size.
-- No part of a group is joined with another: with index scans forced, each row would go through all of the
-- others. The plan is made once for each connection: for a few rows planning took longer than running.

-- Debits of any number of accounts, judged in the order given. An ask is admitted where it and
-- everything asked before it by the same account fit the balance; the caller asks again for one that
-- was refused only because of a larger ask before it (its credits are within `available`).
-- status: granted, short, repeat (took effect before), refunded (took effect and was given back),
-- conflict (took effect before with other credits), unknown (no such account). room: what the daily limit
-- of the account still allows; null without one.
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
    where account_id = any (accounts) and day_end <= now();
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

-- The debits of a busy account come in groups of its own, all new, and one balance pays for all of them:
-- judging them one by one, as `credit_debit` does, is most of what such a group costs.
-- Takes all of what one account is asked for, each ask once, and answers what could be spent before.
-- Null where it took nothing, because `credit_debit` has to judge: the cycle or the day is over, neither allowance nor
-- packs alone pays for all, it is more than the daily limit allows, an ask took effect before, or there is no such
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
  if balance.period_end > now() and balance.day_end > now()
    and (allows or balance.allowance = 0 and total <= balance.packs)
    and (balance.daily_limit is null or balance.spent + total <= balance.daily_limit)
    -- Key by key: for `op_key = any (op_keys)` a plan of a young ledger reads every entry of the account.
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

-- As processes of the version before ask: what a debit is for is not known then, and counted nowhere.
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
