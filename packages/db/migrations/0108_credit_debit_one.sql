-- The debits of a busy account come in groups of its own, all new, and one purse pays for all of them:
-- judging them one by one, as `credit_debit` does, is most of what such a group costs.

-- Takes all of what one account is asked for, each ask once, and answers what could be spent before.
-- Null where it took nothing, because `credit_debit` has to judge: the cycle is over, no purse alone
-- pays for all, an ask took effect before, or there is no such account.
create function credit_debit_one(payer text, op_keys text[], asked bigint[])
returns bigint
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  purse credit_accounts;
  total bigint := 0;
  credits bigint;
  allows boolean;
begin
  select * into purse from credit_accounts where account_id = payer for no key update;
  foreach credits in array asked loop total := total + credits; end loop;
  allows := total <= purse.allowance;
  if purse.period_end > now() and (allows or purse.allowance = 0 and total <= purse.packs)
    and not exists (select from credit_entries e
      where e.account_id = payer and e.op_key = any (op_keys) and e.kind = 'debit')
  then
    insert into credit_entries
      (account_id, op_key, kind, allowance_delta, packs_delta, held_delta, period_no)
    select payer, a.op_key, 'debit', case when allows then -a.credits else 0 end,
      case when allows then 0 else -a.credits end, 0, purse.period_no
    from unnest(op_keys, asked) as a (op_key, credits);
    insert into credit_unanswered (account_id, op_key) select payer, unnest(op_keys);
    update credit_accounts c set
      allowance = c.allowance - case when allows then total else 0 end,
      packs = c.packs - case when allows then 0 else total end
    where c.account_id = payer;
    return purse.allowance + purse.packs;
  end if;
  return null;
end $$;
