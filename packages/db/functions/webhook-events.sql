-- Records an event of an account if one of its webhook endpoints subscribes to it.
create or replace function note_webhook_event(account text, event text, about text) returns void
language sql as $$
  insert into webhook_events (account_id, type, subject)
  select account, event, about
  where exists (select from webhook_endpoints
    where account_id = account and disabled_at is null and event = any (events))
$$;

-- Records that a batch is ready or has ended. Evaluated at the end of the transaction, where a batch that starts
-- by itself is no longer `ready`.
create or replace function note_batch_event() returns trigger language plpgsql as $$
begin
  if exists (select from batches where id = new.id and status = new.status) then
    if not new.is_lookup then
      perform note_webhook_event(new.account_id, 'batch.' || new.status, new.id);
    elsif new.status <> 'ready' then
      perform note_webhook_event(new.account_id, 'lookup.completed', new.id);
    end if;
  end if;
  return null;
end $$;
drop trigger if exists webhook_of_batch on batches;
create constraint trigger webhook_of_batch after update of status on batches
  deferrable initially deferred for each row
  -- A sample is part of another batch and has no events of its own.
  when (new.sample_of is null and old.status is distinct from new.status
    and new.status in ('ready', 'completed', 'failed', 'canceled'))
  execute function note_batch_event();
