-- Holds credits for a batch: all or none, once for each reference. The hold counts as spent on the day it is
-- made; what is released on the same day no longer counts.
create or replace function credit_hold(account text, reference text, wanted bigint, for_product text)
returns table (granted boolean, available bigint)
language plpgsql as $$
declare
  c credit_accounts;
  h credit_holds;
  from_allowance bigint;
  left_today bigint;
begin
  perform credit_roll(account);
  select * into c from credit_accounts where account_id = account for no key update;
  if not found then
    raise exception 'account % has no credits', account using errcode = 'foreign_key_violation';
  end if;
  if credit_day_is_over(c.day_end) then
    perform credit_turn_day(account);
    select * into c from credit_accounts where account_id = account;
  end if;
  -- Without a daily limit, only the balance limits a hold.
  left_today := greatest(0, coalesce(c.daily_limit, c.allowance + c.packs + c.spent) - c.spent);
  select * into h from credit_holds where account_id = account and ref = reference;
  if found then
    if h.credits <> wanted then
      raise exception 'hold % was made for % credits, not %', reference, h.credits, wanted
        using errcode = 'unique_violation';
    end if;
    return query select true, c.allowance + c.packs;
    return;
  end if;
  if wanted > least(c.allowance + c.packs, left_today) then
    return query select false, c.allowance + c.packs;
    return;
  end if;
  from_allowance := least(c.allowance, wanted);
  insert into credit_holds
    (account_id, ref, credits, allowance_left, packs_left, period_no, product, used_on)
  values (account, reference, wanted, from_allowance, wanted - from_allowance, c.period_no,
    for_product, c.day);
  insert into credit_entries
    (account_id, op_key, kind, allowance_delta, packs_delta, held_delta, period_no, detail, product,
      source, used_on)
  values (account, reference, 'hold', -from_allowance, from_allowance - wanted, wanted,
    c.period_no, reference, for_product, 'batch', c.day);
  update credit_accounts set allowance = c.allowance - from_allowance,
    packs = c.packs - (wanted - from_allowance), spent = c.spent + wanted
  where account_id = account;
  return query select true, c.allowance + c.packs - wanted;
end $$;

-- For processes of the previous version, which name no product.
create or replace function credit_hold(account text, reference text, wanted bigint)
returns table (granted boolean, available bigint)
language sql as $$
  select h.granted, h.available from credit_hold(account, reference, wanted, null) h
$$;

-- Charges credits of a hold for a number of records, allowance first, without locking the account's row. Returns
-- false if the operation took effect before.
create or replace function credit_settle(
  account text, reference text, operation text, taken bigint, records bigint)
returns boolean language plpgsql as $$
declare
  h credit_holds;
  from_allowance bigint;
  today date := (select (now() at time zone a.time_zone)::date from accounts a where a.id = account);
begin
  select * into h from credit_holds where account_id = account and ref = reference for no key update;
  if not found then
    raise exception 'no hold % of account %', reference, account using errcode = 'no_data_found';
  end if;
  insert into credit_entries
    (account_id, op_key, kind, allowance_delta, packs_delta, held_delta, period_no, detail, product,
      source, used_on)
  values (account, operation, 'settle', 0, 0, -taken, h.period_no, reference, h.product, 'batch', today)
  on conflict do nothing;
  if not found then return false; end if;
  if h.closed_at is not null or taken > h.allowance_left + h.packs_left then
    raise exception 'hold % has % credits left and is %, % asked', reference,
      h.allowance_left + h.packs_left, case when h.closed_at is null then 'open' else 'closed' end,
      taken using errcode = 'check_violation';
  end if;
  from_allowance := least(h.allowance_left, taken);
  update credit_holds set allowance_left = h.allowance_left - from_allowance,
    packs_left = h.packs_left - (taken - from_allowance), settled = h.settled + taken
  where account_id = account and ref = reference;
  if h.product is not null then
    insert into credit_usage as u (account_id, day, product, source, ref, operations, credits)
    values (account, today, h.product, 'batch', reference, records, taken)
    on conflict (account_id, day, product, source, ref) do update
      set operations = u.operations + excluded.operations, credits = u.credits + excluded.credits;
  end if;
  return true;
end $$;

-- For processes of the previous version, which do not count records.
create or replace function credit_settle(account text, reference text, operation text, taken bigint)
returns boolean language sql as $$
  select credit_settle(account, reference, operation, taken, 0)
$$;

-- Closes a hold and returns its remaining credits; allowance of an ended cycle is not returned. Returns null if
-- there is no open hold.
create or replace function credit_release(account text, reference text, operation text)
returns bigint language plpgsql as $$
declare
  h credit_holds;
  c credit_accounts;
  to_allowance bigint;
begin
  select * into h from credit_holds
    where account_id = account and ref = reference and closed_at is null for no key update;
  if not found then return null; end if;
  perform credit_roll(account);
  select * into c from credit_accounts where account_id = account for no key update;
  to_allowance := case when h.period_no = c.period_no then h.allowance_left else 0 end;
  insert into credit_entries
    (account_id, op_key, kind, allowance_delta, packs_delta, held_delta, period_no, detail, product,
      source, used_on)
  values (account, operation, 'release', to_allowance, h.packs_left,
    -(h.allowance_left + h.packs_left), c.period_no, reference, h.product, 'batch', h.used_on);
  update credit_holds set released = h.allowance_left + h.packs_left, allowance_left = 0,
    packs_left = 0, closed_at = now()
  where account_id = account and ref = reference;
  -- Credits released on the day of their hold can be spent again on that day; later they do not change `spent`.
  update credit_accounts set allowance = c.allowance + to_allowance, packs = c.packs + h.packs_left,
    spent = case when h.used_on = c.day
      then greatest(0, c.spent - h.allowance_left - h.packs_left) else c.spent end
  where account_id = account;
  return h.allowance_left + h.packs_left;
end $$;
