import { openTestDatabase } from '@plumbline/testkit/database'
import { expect, test } from 'vitest'
import { countOpenChunks, readBacklog } from './backlog.ts'
import { add, openTwoAccounts } from './tasks-fixture.ts'

test('the backlog is the work that workers could begin now, without paused batches and waiting tasks', async () => {
  await using db = await openTestDatabase()
  await db.pool.query(`
    insert into accounts (id, email, plan, status)
      values ('a', 'a@b.example', 'pro', 'active'), ('b', 'b@b.example', 'pro', 'suspended');
    insert into batches (id, account_id, mode, product, status, explain, charge_unknown, auto_start,
      retention_days, requested, source_key, file_bytes, ats)
    select name, account, 'live', 'email', 'analyzing', false, true, true, 30, '{}', 'u', 1,
      jsonb_build_object('running', now() - interval '1 hour')
    from (values ('bat_run', 'a'), ('bat_canceling', 'a'), ('bat_paused', 'a'), ('bat_rest', 'b'))
      as b(name, account);
    update batches set status = 'running';
    insert into chunks (batch_id, no, first_row, row_count, billable_count, email_count, phone_count,
      ip_count, domain_count, remaining, subjects, cells, settled_at)
    select id, no, 0, 1, 1, 1, 0, 0, 0, 1, '', '', case when no = 3 then now() end
    from batches, generate_series(0, 4) no;
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size, group_key, due_at)
    select b.id, b.account_id, 'live', 'email', 'full', no, 1, case when no = 2 then 'mx:a' end,
      case when no = 2 then now() end
    from batches b, generate_series(0, 2) no;
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size, due_at)
    values ('bat_run', 'a', 'live', 'email', 'full', 4, 1, now() + interval '1 hour');
    update tasks set lease = 1, lease_until = now() + interval '1 min', claimed = false
    where batch_id = 'bat_run' and chunk_no = 1;
    update batches set status = 'canceling' where id = 'bat_canceling';
    update batches set status = 'paused' where id = 'bat_paused'`)
  const [email, phone] = await readBacklog(db)
  expect(email).toMatchObject({ check: 'email', claimable: 2, waiting: 4 })
  expect(email?.ageSeconds).toBeGreaterThanOrEqual(3_600)
  expect(phone).toEqual({ check: 'phone', claimable: 0, waiting: 0, ageSeconds: 0 })
  // Of five chunks one is settled, and two have only waiting tasks.
  expect(await countOpenChunks(db)).toBe(2)
  await db.pool.query(`update tasks set claimed = true where batch_id = 'bat_run' and chunk_no = 1`)
  expect((await readBacklog(db))[0]).toMatchObject({ claimable: 1 })
})

test('a waiting group that is due counts; one that is not due, has a leased task or none to begin, does not', async () => {
  await using place = await openTwoAccounts()
  const { db } = place
  await db.pool.query(`
    update accounts set status = 'suspended' where id = 'b';
    insert into task_groups (check_kind, group_key, next_at, out_task)
    select 'domain', 'due ' || no, now(), null::bigint from generate_series(1, 12000) no
    union all select 'domain', 'later', now() + interval '1 hour', null
    union all select 'email', 'due', now(), null
    union all select 'email', 'out', now(), 7
    union all select 'email', 'canceled', now(), null
    union all select 'email', 'suspended', now(), null;
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, size, group_key, due_at)
    select 'bat_a', 'a', 'live', 'domain', 'full', 0, 1, group_key, now()
    from task_groups where check_kind = 'domain'`)
  for (const group of ['due', 'out']) await add(db, { group, due: 0 })
  await add(db, { group: 'suspended', due: 0, account: 'b' })
  const [email, , , domain] = await readBacklog(db)
  expect(email).toMatchObject({ check: 'email', claimable: 1 })
  // Numbers above the capacity of any installation need no exact count.
  expect(domain).toMatchObject({ check: 'domain', claimable: 10_000 })
})
