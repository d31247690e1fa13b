-- Billing cycles: cycle k starts k months after the account's anchor, in its time zone. Each is computed from
-- the anchor, not from the cycle before, so that 31 January is followed by 28 February and 31 March. Postgres
-- clamps month ends, and moves a local midnight that a clock change skips to the next time that exists.

create or replace function credit_period_start(anchor timestamp, zone text, period_no integer)
returns timestamptz language sql stable
return (anchor + make_interval(months => period_no)) at time zone zone;

-- The cycle that `moment` falls in: counts whole months, then corrects by at most one.
create or replace function credit_period_at(anchor timestamp, zone text, moment timestamptz)
returns integer language plpgsql stable as $$
declare
  here timestamp := moment at time zone zone;
  k integer := (extract(year from here)::int - extract(year from anchor)::int) * 12
    + extract(month from here)::int - extract(month from anchor)::int;
begin
  while k > 0 and credit_period_start(anchor, zone, k) > moment loop k := k - 1; end loop;
  while credit_period_start(anchor, zone, k + 1) <= moment loop k := k + 1; end loop;
  return greatest(k, 0);
end $$;

-- Opens the balance of each inserted account.
create or replace function credit_open_account() returns trigger language plpgsql as $$
declare
  first_day timestamp := date_trunc('day', new.created_at at time zone new.time_zone);
  granted bigint := case when new.opens_empty then 0
    else (select monthly_credits from plans where plan = new.plan) end;
  now_in integer := credit_period_at(first_day, new.time_zone, now());
begin
  insert into credit_accounts (account_id, allowance, period_no, period_start, period_end, anchor)
  values (new.id, granted, now_in, credit_period_start(first_day, new.time_zone, now_in),
    credit_period_start(first_day, new.time_zone, now_in + 1), first_day);
  insert into credit_entries
    (account_id, op_key, kind, allowance_delta, packs_delta, held_delta, period_no, detail)
  values (new.id, 'cycle:' || now_in, 'grant', granted, 0, 0, now_in, new.plan);
  return null;
end $$;

create or replace trigger open_credits after insert on accounts
  for each row execute function credit_open_account();

-- Starts the next cycle of a locked account if the current one is over: the rest of the allowance expires, a
-- scheduled change of plan takes effect, and the new allowance is granted. Cycles that passed unnoticed are
-- skipped: only the current one is granted.
create or replace function credit_roll(account text) returns boolean language plpgsql as $$
declare
  c credit_accounts;
  a accounts;
  k integer;
  granted bigint;
begin
  select * into c from credit_accounts where account_id = account for no key update;
  if not found or c.period_end > now() then return false; end if;
  update accounts set plan = coalesce(next_plan, plan), next_plan = null
    where id = account and next_plan is not null;
  select * into a from accounts where id = account;
  k := greatest(credit_period_at(c.anchor, a.time_zone, now()), c.period_no + 1);
  select monthly_credits into granted from plans where plan = a.plan;
  insert into credit_entries
    (account_id, op_key, kind, allowance_delta, packs_delta, held_delta, period_no, detail)
  values
    (account, 'cycle:' || c.period_no, 'expire', -c.allowance, 0, 0, c.period_no, null),
    (account, 'cycle:' || k, 'grant', granted, 0, 0, k, a.plan);
  update credit_accounts set allowance = granted, period_no = k,
    period_start = credit_period_start(c.anchor, a.time_zone, k),
    period_end = credit_period_start(c.anchor, a.time_zone, k + 1)
  where account_id = account;
  return true;
end $$;

-- Starts the next cycle of up to `most` accounts whose cycle is over, except locked ones.
create or replace function credit_roll_due(most integer) returns integer language plpgsql as $$
declare
  rolled integer;
begin
  select count(*) filter (where credit_roll(d.account_id)) into rolled
  from (select account_id from credit_accounts where period_end <= now()
    order by account_id limit most for no key update skip locked) d;
  return rolled;
end $$;

-- Whether a day is over: its end is past, or later than that of any day, since the clock was set back.
create or replace function credit_day_is_over(day_end timestamptz) returns boolean language sql stable as $$
  select day_end <= now() or day_end > now() + interval '26 hours'
$$;

-- Starts the account's next day, with nothing spent, if the current one is over.
create or replace function credit_turn_day(account text) returns void language sql as $$
  update credit_accounts c set day = t.day, spent = 0,
    day_end = (t.day + 1)::timestamp at time zone t.time_zone
  from (select (now() at time zone a.time_zone)::date as day, a.time_zone
    from accounts a where a.id = account) t
  where c.account_id = account and credit_day_is_over(c.day_end)
$$;
