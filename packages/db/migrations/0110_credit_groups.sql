-- Debits and their ends as `0104` has them, but no part of a group is joined with another: with index
-- scans forced, each row of a group went through all of the others.

create or replace function credit_debit(accounts text[], op_keys text[], asked bigint[])
returns table (status text, available bigint)
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
  ), weighed as materialized (
    select s.*, s.before is null and s.upto <= s.allowance + s.packs as fits,
      coalesce(sum(s.credits) filter (where s.before is null and s.upto <= s.allowance + s.packs)
        over (partition by s.account_id), 0)::bigint as taken
    from summed s
  ), admitted as materialized (
    select w.account_id, w.op_key, w.period_no, w.credits,
      least(w.allowance, w.upto) - least(w.allowance, w.upto - w.credits) as from_allowance
    from weighed w where w.fits
  ), entries as (
    insert into credit_entries
      (account_id, op_key, kind, allowance_delta, packs_delta, held_delta, period_no)
    select d.account_id, d.op_key, 'debit', -d.from_allowance, d.from_allowance - d.credits, 0,
      d.period_no
    from admitted d
  ), waiting as (
    insert into credit_unanswered (account_id, op_key)
    select d.account_id, d.op_key from admitted d
  ), paid as (
    update credit_accounts c set allowance = c.allowance - t.allowance, packs = c.packs - t.packs
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
    w.allowance + w.packs - case when w.upto <= w.allowance + w.packs then w.upto else w.taken end
  from weighed w
  order by w.n;
end $$;

create or replace function credit_close(
  accounts text[], op_keys text[], gives bigint[], kinds text[], details text[])
returns table (state text, given bigint)
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  ended boolean[] := array_fill(false, array[cardinality(accounts)]);
  place bigint;
begin
  for place in
    delete from credit_unanswered u
    using unnest(accounts, op_keys) with ordinality as a (account_id, op_key, n)
    where u.account_id = a.account_id and u.op_key = a.op_key
    returning a.n
  loop
    ended[place] := true;
  end loop;
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
  with judged as materialized (
    select b.n, b.account_id, b.op_key, b.ended, b.kind, b.detail, c.period_no,
      d.id is not null as gives_back, least(b.back, -d.packs_delta) as to_packs,
      case when d.period_no = c.period_no
        then least(b.back, -(d.allowance_delta + d.packs_delta)) - least(b.back, -d.packs_delta)
        else 0 end as to_allowance
    from unnest(ended, accounts, op_keys, gives, kinds, details) with ordinality
      as b (ended, account_id, op_key, back, kind, detail, n)
    left join credit_accounts c
      on c.account_id = b.account_id and b.ended and b.back > 0
    left join credit_entries d
      on d.account_id = c.account_id and d.op_key = b.op_key and d.kind = 'debit'
  ), closing as materialized (
    select * from judged j where j.gives_back
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
      when j.ended then case j.kind when 'refund' then 'refunded' else 'answered' end
      when exists (select from credit_entries e where e.account_id = j.account_id
        and e.op_key = j.op_key and e.kind = 'refund') then 'refunded'
      when exists (select from credit_entries e where e.account_id = j.account_id
        and e.op_key = j.op_key and e.kind = 'debit') then 'answered'
      else 'unknown' end,
    case
      when j.gives_back then j.to_allowance + j.to_packs
      when j.ended then 0
      else coalesce((
        select sum(e.allowance_delta + e.packs_delta) from credit_entries e
        where e.account_id = j.account_id and e.op_key = j.op_key
          and e.kind in ('refund', 'give_back')), 0) end::bigint
  from judged j
  order by j.n;
end $$;
