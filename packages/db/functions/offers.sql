-- Plans and packs are changed only by these two functions, which record each change in the audit log; the serving
-- role has no right to write the tables. Fields that `change` does not name keep their values.
create or replace function change_plan(acting text, wanted text, change jsonb) returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  old_row plans;
  new_row plans;
begin
  if wanted !~ '^[a-z0-9][a-z0-9-]{0,39}$' then return false; end if;
  select * into old_row from plans where plan = wanted for update;
  if old_row.plan is null and not change ? 'monthly_credits' then return false; end if;
  if old_row.plan is null then
    old_row.test_keys := true;
    old_row.is_offered := true;
    old_row.position := 100;
  end if;
  new_row := jsonb_populate_record(old_row, change || jsonb_build_object('plan', wanted));
  insert into plans values (new_row.*)
  on conflict (plan) do update set monthly_credits = excluded.monthly_credits,
    test_keys = excluded.test_keys, price_cents = excluded.price_cents,
    is_offered = excluded.is_offered, position = excluded.position,
    calls_per_second = excluded.calls_per_second, calls_burst = excluded.calls_burst,
    unfinished_batches = excluded.unfinished_batches, upload_rows = excluded.upload_rows,
    hlr_numbers_per_day = excluded.hlr_numbers_per_day;
  insert into audit_log (actor, action, before, after)
  values (acting, 'plan.change', case when old_row.plan is not null then to_jsonb(old_row) end, to_jsonb(new_row));
  return true;
end $$;

create or replace function change_pack(acting text, wanted text, change jsonb) returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  old_row packs;
  new_row packs;
begin
  if wanted !~ '^[a-z0-9][a-z0-9-]{0,39}$' then return false; end if;
  select * into old_row from packs where pack = wanted for update;
  if old_row.pack is null and not change ? 'credits' then return false; end if;
  if old_row.pack is null then
    old_row.is_offered := true;
    old_row.position := 100;
  end if;
  new_row := jsonb_populate_record(old_row, change || jsonb_build_object('pack', wanted));
  insert into packs values (new_row.*)
  on conflict (pack) do update set credits = excluded.credits, price_cents = excluded.price_cents,
    is_offered = excluded.is_offered, position = excluded.position;
  insert into audit_log (actor, action, before, after)
  values (acting, 'pack.change', case when old_row.pack is not null then to_jsonb(old_row) end, to_jsonb(new_row));
  return true;
end $$;
