-- Marks who watches a batch when it ends, whichever version ends it; a batch may end before it is watched again.
create or replace function mark_watcher() returns trigger language plpgsql as $$
begin
  update batch_watchers set ended_at = clock_timestamp() where batch_id = new.id and ended_at is null;
  return null;
end $$;
create or replace trigger end_is_watched after update of status on batches for each row
  when (new.sample_of is null and not new.is_lookup and old.status is distinct from new.status
    and new.status in ('completed', 'canceled', 'failed', 'expired'))
  execute function mark_watcher();

create or replace function mark_new_watcher() returns trigger language plpgsql as $$
begin
  new.ended_at := (select clock_timestamp() from batches
    where id = new.batch_id and status in ('completed', 'canceled', 'failed', 'expired'));
  return new;
end $$;
create or replace trigger watched_at_end before insert on batch_watchers for each row
  execute function mark_new_watcher();

-- Batches that ended before the triggers existed: from here on no other can.
update batch_watchers w set ended_at = clock_timestamp() from batches b
where b.id = w.batch_id and w.ended_at is null and b.status in ('completed', 'canceled', 'failed', 'expired');
