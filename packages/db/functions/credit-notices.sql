-- Triggers on credit_accounts that report a low or empty balance.

-- Records that a balance fell below the account's low-credit mark, or that the mark was raised
-- above it, and the event `credits.low`; at most once a day. `note_webhook_event` is in webhook-events.sql.
create or replace function credit_note_low() returns trigger language plpgsql as $$
begin
  insert into credit_notices (account_id, day, available, low_mark)
  select new.account_id, (now() at time zone a.time_zone)::date, new.allowance + new.packs, new.low_mark
  from accounts a where a.id = new.account_id
  on conflict do nothing;
  if found then
    perform note_webhook_event(new.account_id, 'credits.low', '');
  end if;
  return null;
end $$;

create or replace trigger note_low after update on credit_accounts
  for each row
  when (new.low_mark is not null and new.allowance + new.packs < new.low_mark
    and (old.low_mark is null or old.allowance + old.packs >= old.low_mark))
  execute function credit_note_low();

-- Records the event `credits.exhausted` of an account whose balance reached zero.
create or replace function note_empty_balance() returns trigger language plpgsql as $$
begin
  perform note_webhook_event(new.account_id, 'credits.exhausted', '');
  return null;
end $$;

create or replace trigger webhook_of_balance after update of allowance, packs on credit_accounts
  for each row when (old.allowance + old.packs > 0 and new.allowance + new.packs = 0)
  execute function note_empty_balance();
