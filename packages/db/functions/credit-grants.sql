-- Adds credits that never expire, once for each source. Returns false if that source was added before.
create or replace function credit_grant(account text, source text, sort text, granted bigint, note text)
returns boolean language plpgsql as $$
declare
  c credit_accounts;
begin
  perform credit_roll(account);
  select * into c from credit_accounts where account_id = account for no key update;
  if not found then
    raise exception 'account % has no credits', account using errcode = 'foreign_key_violation';
  end if;
  insert into credit_entries
    (account_id, op_key, kind, allowance_delta, packs_delta, held_delta, period_no, detail)
  values (account, source, sort, 0, granted, 0, c.period_no, note)
  on conflict (account_id, op_key, kind) do nothing;
  if not found then return false; end if;
  update credit_accounts set packs = c.packs + granted where account_id = account;
  return true;
end $$;

-- Changes the plan of an account. One with more credits takes effect at once, and the difference is granted; one
-- with as many or fewer takes effect with the next cycle. Its current plan cancels a scheduled change.
create or replace function credit_change_plan(account text, wanted text)
returns table (plan_now text, plan_next text, granted bigint)
language plpgsql as $$
declare
  c credit_accounts;
  a accounts;
  more bigint;
begin
  perform credit_roll(account);
  select * into c from credit_accounts where account_id = account for no key update;
  if not found then
    raise exception 'account % has no credits', account using errcode = 'foreign_key_violation';
  end if;
  select * into a from accounts where id = account for no key update;
  select w.monthly_credits - p.monthly_credits into more
    from plans w, plans p where w.plan = wanted and p.plan = a.plan;
  if more is null then
    raise exception 'no plan %', wanted using errcode = 'foreign_key_violation';
  end if;
  if more > 0 then
    insert into credit_entries
      (account_id, op_key, kind, allowance_delta, packs_delta, held_delta, period_no, detail)
    values (account,
      'plan:' || c.period_no || ':' || a.plan || ':' || wanted || ':' || pg_current_xact_id(), 'grant', more, 0, 0,
      c.period_no, wanted);
    update credit_accounts set allowance = c.allowance + more where account_id = account;
    update accounts set plan = wanted, next_plan = null where id = account;
    return query select wanted, null::text, more;
    return;
  end if;
  update accounts set next_plan = nullif(wanted, a.plan) where id = account;
  return query select a.plan, nullif(wanted, a.plan), 0::bigint;
end $$;
