-- The moves of credits, each one call. Locks are always taken in this order: rows of
-- credit_unanswered, a hold, then rows of credit_accounts by account_id.
-- Index scans are forced because a plan made while a table was small would outlive its size.

-- Debits of any number of accounts, judged in the order given. An ask is admitted where it and
-- everything asked before it by the same account fit the balance; the caller asks again for one that
-- was refused only because of a larger ask before it (its credits are within `available`).
-- status: granted, short, repeat (took effect before), refunded (took effect and was given back),
-- conflict (took effect before with other credits), unknown (no such account).
create function credit_debit(accounts text[], op_keys text[], asked bigint[])
returns table (status text, available bigint)
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  perform 1 from (
    select account_id from credit_accounts where account_id = any (accounts)
    order by account_id for no key update) locked;
  perform credit_roll(account_id) from credit_accounts
    where account_id = any (accounts) and period_end <= now();
  return query
  with judged as materialized (
    select a.n, a.account_id, a.op_key, a.credits, c.allowance, c.packs, c.period_no,
      (select -(e.allowance_delta + e.packs_delta) from credit_entries e
        where e.account_id = a.account_id and e.op_key = a.op_key and e.kind = 'debit') as before
    from unnest(accounts, op_keys, asked) with ordinality as a (account_id, op_key, credits, n)
    left join credit_accounts c on c.account_id = a.account_id
  ), summed as materialized (
    select j.*, coalesce(sum(j.credits) filter (where j.before is null)
      over (partition by j.account_id order by j.n), 0)::bigint as upto
    from judged j
  ), admitted as materialized (
    select s.account_id, s.op_key, s.period_no, s.upto, s.credits,
      least(s.allowance, s.upto) - least(s.allowance, s.upto - s.credits) as from_allowance
    from summed s where s.before is null and s.upto <= s.allowance + s.packs
  ), entries as (
    insert into credit_entries
      (account_id, op_key, kind, allowance_delta, packs_delta, held_delta, period_no)
    select d.account_id, d.op_key, 'debit', -d.from_allowance, d.from_allowance - d.credits, 0,
      d.period_no
    from admitted d
  ), waiting as (
    insert into credit_unanswered (account_id, op_key)
    select d.account_id, d.op_key from admitted d
  ), taken as (
    select d.account_id, sum(d.from_allowance)::bigint as allowance,
      sum(d.credits - d.from_allowance)::bigint as packs
    from admitted d group by d.account_id
  ), paid as (
    update credit_accounts c set allowance = c.allowance - t.allowance, packs = c.packs - t.packs
    from taken t where c.account_id = t.account_id
  )
  select case
      when s.allowance is null then 'unknown'
      when s.before is null and s.upto <= s.allowance + s.packs then 'granted'
      when s.before is null then 'short'
      when s.before <> s.credits then 'conflict'
      when exists (select from credit_entries e where e.account_id = s.account_id
        and e.op_key = s.op_key and e.kind = 'refund') then 'refunded'
      else 'repeat' end,
    s.allowance + s.packs - case
      when s.upto <= s.allowance + s.packs then s.upto
      else coalesce(t.allowance + t.packs, 0) end
  from summed s left join taken t on t.account_id = s.account_id
  order by s.n;
end $$;

-- Ends the waiting of debits, and gives back what is asked: what was taken last goes back first, and
-- allowance of an ended cycle stays ended. Asking again answers the same.
-- state: answered (the debit stands, less `given`), refunded, unknown (no such debit).
create function credit_close(
  accounts text[], op_keys text[], gives bigint[], kinds text[], details text[])
returns table (state text, given bigint)
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  ended boolean[];
begin
  with gone as (
    delete from credit_unanswered u
    using unnest(accounts, op_keys) with ordinality as a (account_id, op_key, n)
    where u.account_id = a.account_id and u.op_key = a.op_key
    returning a.n
  )
  select array_agg(g.n is not null order by s.n) into ended
  from generate_series(1, cardinality(accounts)) as s (n) left join gone g on g.n = s.n;
  if true = all (ended) and 0 >= all (gives) then
    return query select case k when 'refund' then 'refunded' else 'answered' end, 0::bigint
      from unnest(kinds) as k;
    return;
  end if;
  perform 1 from (
    select account_id from credit_accounts where account_id = any (accounts)
    order by account_id for no key update) locked;
  perform credit_roll(account_id) from credit_accounts
    where account_id = any (accounts) and period_end <= now();
  return query
  with closing as materialized (
    select b.n, b.account_id, b.op_key, b.kind, b.detail, c.period_no, least(b.back, -d.packs_delta) as to_packs,
      case when d.period_no = c.period_no
        then least(b.back, -(d.allowance_delta + d.packs_delta)) - least(b.back, -d.packs_delta)
        else 0 end as to_allowance
    from unnest(ended, accounts, op_keys, gives, kinds, details) with ordinality
      as b (ended, account_id, op_key, back, kind, detail, n)
    join credit_accounts c on c.account_id = b.account_id
    join credit_entries d
      on d.account_id = b.account_id and d.op_key = b.op_key and d.kind = 'debit'
    where b.ended and b.back > 0
  ), entries as (
    insert into credit_entries
      (account_id, op_key, kind, allowance_delta, packs_delta, held_delta, period_no, detail)
    select g.account_id, g.op_key, g.kind, g.to_allowance, g.to_packs, 0, g.period_no, g.detail
    from closing g
  ), paid as (
    update credit_accounts c set allowance = c.allowance + t.allowance, packs = c.packs + t.packs
    from (select g.account_id, sum(g.to_allowance)::bigint as allowance,
        sum(g.to_packs)::bigint as packs
      from closing g group by g.account_id) t
    where c.account_id = t.account_id
  )
  select case
      when s.ended then case s.kind when 'refund' then 'refunded' else 'answered' end
      when exists (select from credit_entries e where e.account_id = s.account_id
        and e.op_key = s.op_key and e.kind = 'refund') then 'refunded'
      when exists (select from credit_entries e where e.account_id = s.account_id
        and e.op_key = s.op_key and e.kind = 'debit') then 'answered'
      else 'unknown' end,
    coalesce(g.to_allowance + g.to_packs, (
      select sum(e.allowance_delta + e.packs_delta) from credit_entries e
      where not s.ended and e.account_id = s.account_id and e.op_key = s.op_key
        and e.kind in ('refund', 'give_back')), 0)::bigint
  from unnest(ended, accounts, op_keys, kinds) with ordinality
    as s (ended, account_id, op_key, kind, n)
  left join closing g on g.n = s.n
  order by s.n;
end $$;

-- Refunds debits that waited longer than `age`; those another process is ending now are left to it.
create function credit_sweep(age interval, most integer)
returns table (account text, op text)
language plpgsql as $$
declare
  found_accounts text[];
  found_ops text[];
begin
  select array_agg(u.account_id), array_agg(u.op_key) into found_accounts, found_ops
  from (select account_id, op_key from credit_unanswered where created_at < now() - age
    order by created_at limit most for update skip locked) u;
  if found_accounts is null then return; end if;
  perform credit_close(found_accounts, found_ops,
    array_fill(9007199254740991, array[cardinality(found_ops)]),
    array_fill('refund'::text, array[cardinality(found_ops)]),
    array_fill('unanswered'::text, array[cardinality(found_ops)]));
  return query select * from unnest(found_accounts, found_ops);
end $$;
