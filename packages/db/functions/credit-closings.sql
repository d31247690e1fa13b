-- Closes debits, returning `gives` credits of each: to the packs first, since the allowance was debited
-- first. Allowance of an ended cycle is not returned. A repeated call returns the same rows.
-- state: answered (the debit is final, less `given`), refunded, unknown (no such debit).
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
    select b.n, b.account_id, b.op_key, b.ended, b.kind, b.detail, c.period_no, c.day, d.product,
      d.source, d.used_on, least(b.back, -(d.allowance_delta + d.packs_delta)) as unused,
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
      (account_id, op_key, kind, allowance_delta, packs_delta, held_delta, period_no, detail, product,
        source, used_on)
    select g.account_id, g.op_key, g.kind, g.to_allowance, g.to_packs, 0, g.period_no, g.detail,
      g.product, g.source, g.used_on
    from closing g
  ), unused as (
    update credit_usage u
    set operations = u.operations - t.operations, credits = u.credits - t.credits
    from (select g.account_id, g.used_on, g.product, g.source, sum(g.unused)::bigint as credits,
        count(*) filter (where g.kind = 'refund') as operations
      from closing g where g.product is not null
      group by g.account_id, g.used_on, g.product, g.source) t
    where u.account_id = t.account_id and u.day = t.used_on and u.product = t.product
      and u.source = t.source and u.ref = ''
  ), paid as (
    update credit_accounts c set allowance = c.allowance + t.allowance, packs = c.packs + t.packs,
      spent = greatest(0, c.spent - t.spent)
    from (select g.account_id, sum(g.to_allowance)::bigint as allowance,
        sum(g.to_packs)::bigint as packs,
        coalesce(sum(g.unused) filter (where g.used_on = g.day), 0)::bigint as spent
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

-- Closes debits whose calls were answered, with nothing to return: nearly all are. Only their rows in
-- credit_unanswered are deleted; the ledger is not read. Returns how many there were; `credit_close`
-- tells the state of the others.
create or replace function credit_answered(accounts text[], op_keys text[]) returns integer
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  ended integer;
begin
  delete from credit_unanswered u using unnest(accounts, op_keys) as a (account_id, op_key)
  where u.account_id = a.account_id and u.op_key = a.op_key;
  get diagnostics ended = row_count;
  return ended;
end $$;

-- Refunds debits that have been open for longer than `age`, except those that another process is closing. One
-- dated in the future was made before the clock was set back; its age counts from now.
create or replace function credit_sweep(age interval, most integer)
returns table (account text, op text)
language plpgsql as $$
declare
  found_accounts text[];
  found_ops text[];
begin
  update credit_unanswered set created_at = now() where created_at > now() + interval '1 minute';
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

-- Whether a debit was refunded, so that the idempotency key of its call may be used again.
create or replace function credit_is_refunded(account text, operation text) returns boolean
language sql stable as $$
  select exists (select from credit_entries e
    where e.account_id = account and e.op_key = operation and e.kind = 'refund')
$$;
