-- Takes from token buckets. Takes from the same bucket are judged one after another, also those of other sessions:
-- its row is locked before the clock is read. Rows are locked in the order of their keys, so that two calls cannot
-- deadlock.
create or replace function take_from_buckets(keys text[], counts float8[], rates float8[], bursts float8[])
returns table (place int, granted boolean, wait_ms float8, remaining float8)
language plpgsql as $$
declare
  ask record;
  moment float8;
  before float8;
  following float8;
  ceiling float8;
  each float8;
begin
  for ask in
    select t.key, t.count, t.rate, t.burst, t.place::int as place
      from unnest(keys, counts, rates, bursts) with ordinality as t (key, count, rate, burst, place)
     order by t.key collate "C", t.place
  loop
    loop
      select b.full_at into before from rate_buckets b where b.key = ask.key for update;
      exit when found;
      insert into rate_buckets (key, full_at) values (ask.key, 0) on conflict (key) do nothing;
    end loop;
    moment := extract(epoch from clock_timestamp()) * 1000000;
    before := greatest(moment, before);
    each := 1000000 / ask.rate;
    -- Rounded like `following`; else nothing could be taken from a bucket with a burst of one.
    ceiling := ceil(moment + ask.burst * each);
    -- An empty bucket is full at `ceiling`. One that is full more than a minute later was written before the clock
    -- was set back, or at a much slower rate: it is empty now.
    if before > ceiling + 60 * 1000000 then
      before := ceiling;
      update rate_buckets b set full_at = before where b.key = ask.key;
    end if;
    following := ceil(before + ask.count * each);
    place := ask.place;
    granted := following <= ceiling;
    if granted then
      update rate_buckets b set full_at = following where b.key = ask.key;
      wait_ms := 0;
      remaining := floor((ceiling - following) / each);
    else
      wait_ms := ceil((following - ceiling) / 1000);
      remaining := greatest(0, floor((ceiling - before) / each));
    end if;
    return next;
  end loop;
end
$$;

-- Grants each holder a lease on its key if fewer than the limit are held. Keys are locked until the transaction
-- ends, in the order of their hashes, so that two calls cannot deadlock.
create or replace function take_leases(keys text[], holders uuid[], limits int[], ttls_ms float8[])
returns table (place int, granted boolean, wait_ms float8)
language plpgsql as $$
declare
  ask record;
  held int;
  first_expiry timestamptz;
begin
  for ask in
    select t.key, t.holder, t.most, t.ttl_ms, t.place::int as place,
           hashtextextended(t.key, 202) as number
      from unnest(keys, holders, limits, ttls_ms) with ordinality as t (key, holder, most, ttl_ms, place)
     order by number, t.place
  loop
    perform pg_advisory_xact_lock(ask.number);
    delete from leases l where l.key = ask.key and l.expires_at <= clock_timestamp();
    select count(*), min(l.expires_at) into held, first_expiry from leases l where l.key = ask.key;
    place := ask.place;
    granted := held < ask.most;
    if granted then
      insert into leases (key, holder, expires_at)
      values (ask.key, ask.holder, clock_timestamp() + ask.ttl_ms * interval '1 millisecond');
      wait_ms := 0;
    else
      wait_ms := extract(epoch from first_expiry - clock_timestamp()) * 1000;
      -- Taken before the clock was set back: their holders renew them, or are gone.
      update leases l set expires_at = clock_timestamp() + ask.ttl_ms * interval '1 millisecond'
      where l.ctid = any(array(
        select s.ctid from leases s where s.key = ask.key
          and s.expires_at > clock_timestamp() + 2 * ask.ttl_ms * interval '1 millisecond'
        for update skip locked));
    end if;
    return next;
  end loop;
end
$$;

-- Takes up to `asked` of what is left of today's budget of `most`. The budget's row is locked before it is read.
create or replace function take_from_budget(budget text, asked bigint, most bigint)
returns table (taken bigint, spent_on text)
language plpgsql as $$
declare
  today date := (clock_timestamp() at time zone 'utc')::date;
  before bigint;
begin
  loop
    select b.spent into before from budgets b where b.name = budget and b.day = today for update;
    exit when found;
    insert into budgets (name, day, spent) values (budget, today, 0) on conflict do nothing;
  end loop;
  taken := least(asked, greatest(0, most - before));
  spent_on := today::text;
  if taken > 0 then
    update budgets b set spent = before + taken where b.name = budget and b.day = today;
  end if;
  return next;
end
$$;
