import { migrateQueue } from '@plumbline/queue/postgres-queues'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { createTestDatabase, servingUrlOf } from '@plumbline/testkit/postgres'
import { openDatabase } from './database.ts'
import { scramVerifier } from './scram.ts'
import { grantServing, mayChangeLedger } from './serving-role.ts'

async function openFixture() {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase())
  await migrateQueue(database.url)
  const owner = stack.use(openDatabase({ url: database.url, poolSize: 4, applicationName: 'test' }))
  const servingUrl = servingUrlOf(database.url)
  await grantServing(owner, servingUrl)
  const serving = stack.use(openDatabase({ url: servingUrl, poolSize: 2, applicationName: 'test' }))
  const owned = stack.move()
  return { owner, serving, servingUrl, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

const SERVING = 'test_serving'

/** The rights of a role, one line for all objects of a schema with the same rights. */
async function rightsOf(db: pg.Pool, schema: string): Promise<Readonly<Record<string, string[]>>> {
  const { rows } = await db.query<{ rights: string; names: string[] }>(
    `select rights, array_agg(name order by name) as names from (
       select c.relname::text as name,
         coalesce((select string_agg(a.privilege_type, ' ' order by a.privilege_type)
           from aclexplode(c.relacl) a where a.grantee in (0, $2::regrole)), 'nothing') as rights
       from pg_class c
       where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')) each
     group by rights order by rights`,
    [schema, SERVING],
  )
  return Object.fromEntries(rows.map(({ rights, names }) => [rights, names]))
}

test('the serving role has these rights and no others', async () => {
  await using fixture = await openFixture()
  expect(await rightsOf(fixture.owner.pool, 'public')).toMatchInlineSnapshot(`
    {
      "DELETE INSERT SELECT UPDATE": [
        "account_limits",
        "accounts",
        "api_keys",
        "batch_previews",
        "batch_watchers",
        "batches",
        "budgets",
        "chunks",
        "credit_accounts",
        "credit_holds",
        "credit_notices",
        "credit_unanswered",
        "credit_usage",
        "durable_entries",
        "duties",
        "erasures",
        "file_removals",
        "file_store_owner",
        "free_mailboxes",
        "group_answers",
        "idempotency_keys",
        "installation_key",
        "invitations",
        "leases",
        "ledger_account_sums",
        "ledger_audits",
        "ledger_hold_sums",
        "link_codes",
        "live_replies",
        "mail_domain_lists",
        "mails",
        "mails_told",
        "members",
        "memory_entries",
        "parts",
        "rate_buckets",
        "reconciler_counts",
        "reconciler_findings",
        "recovery_codes",
        "repeated_rows",
        "score_weights",
        "sessions",
        "stray_files",
        "task_groups",
        "tasks",
        "unpaid_rows",
        "users",
        "webhook_deliveries",
        "webhook_endpoints",
        "webhook_events",
        "workers",
      ],
      "INSERT SELECT": [
        "audit_log",
        "credit_entries",
      ],
      "SELECT": [
        "function_files",
        "migrations",
        "packs",
        "plans",
      ],
    }
  `)
  expect(await rightsOf(fixture.owner.pool, 'bullmq')).toMatchInlineSnapshot(`
    {
      "DELETE INSERT SELECT UPDATE": [
        "dedup",
        "dedup_next",
        "event",
        "job",
        "job_dependency",
        "job_log",
        "meta",
        "metrics",
        "rate_limit",
        "relay_inbox",
        "relay_node",
        "relay_retained",
        "relay_subscription",
        "scheduler",
      ],
      "SELECT": [
        "migration",
      ],
    }
  `)
  const { rows } = await fixture.owner.pool.query(
    `select rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, rolreplication,
       has_schema_privilege(oid, 'public', 'create') as makes,
       has_schema_privilege(oid, 'bullmq', 'create') as makes_queues,
       has_database_privilege(oid, current_database(), 'create') as makes_schemas,
       (select count(*)::int from pg_auth_members m where m.member = r.oid) as memberships,
       (select count(*)::int from pg_class c where c.relowner = r.oid) as owned
     from pg_roles r where rolname = $1`,
    [SERVING],
  )
  expect(rows).toEqual([
    {
      rolsuper: false,
      rolcreaterole: false,
      rolcreatedb: false,
      rolbypassrls: false,
      rolreplication: false,
      makes: false,
      makes_queues: false,
      makes_schemas: false,
      memberships: 0,
      owned: 0,
    },
  ])
})

test.each([
  'update credit_entries set packs_delta = 1000000',
  'delete from credit_entries',
  'truncate credit_entries',
  'alter table credit_entries disable trigger append_only',
  'drop trigger append_only on credit_entries',
  'drop table credit_entries',
  'alter table credit_entries owner to test_serving',
  'create trigger mine before insert on credit_entries for each row execute function suppress_redundant_updates_trigger()',
  `set session_replication_role = 'replica'`,
  'create or replace function refuse_change() returns trigger language plpgsql as $$ begin return new; end $$',
  'create function public.now() returns timestamptz language sql as $$ select clock_timestamp() $$',
  'create schema mine',
  'set role plumbline',
  `update plans set monthly_credits = 1000000000`,
  `delete from migrations`,
  `copy (select 1) to program 'true'`,
])('the serving role cannot: %s', async (statement) => {
  await using fixture = await openFixture()
  await expect(fixture.serving.pool.query(statement)).rejects.toMatchObject({ code: '42501' })
})

test('rights granted by hand are revoked by the next migration, and unchanged rights are not written', async () => {
  await using fixture = await openFixture()
  const { owner, serving, servingUrl } = fixture
  await owner.pool.query(`grant all on credit_entries, accounts to ${SERVING}`)
  await owner.pool.query(`revoke select on batches from ${SERVING}`)
  await grantServing(owner, servingUrl)
  await expect(serving.pool.query('delete from credit_entries')).rejects.toThrow('denied')
  await expect(serving.pool.query('truncate accounts cascade')).rejects.toThrow('denied')
  await serving.pool.query('select from batches')
  const version = 'select sum(xmin::text::bigint)::text as sum from pg_class'
  const before = await owner.pool.query(version)
  await grantServing(owner, servingUrl)
  expect((await owner.pool.query(version)).rows).toEqual(before.rows)
})

test('a role that could change the ledger is distinguished from one that could not', async () => {
  await using fixture = await openFixture()
  const { owner, serving, servingUrl } = fixture
  expect(await mayChangeLedger(owner)).toBe(true)
  expect(await mayChangeLedger(serving)).toBe(false)
  await owner.pool.query(`grant truncate on credit_entries to ${SERVING}`)
  expect(await mayChangeLedger(serving)).toBe(true)
  await grantServing(owner, servingUrl)
  expect(await mayChangeLedger(serving)).toBe(false)
})

test('concurrent migrations grant the same rights', async () => {
  await using fixture = await openFixture()
  await fixture.owner.pool.query(`revoke all on all tables in schema public from ${SERVING}`)
  await Promise.all(
    Array.from({ length: 4 }, () => grantServing(fixture.owner, fixture.servingUrl)),
  )
  expect((await fixture.serving.pool.query('select from batches')).rowCount).toBe(0)
})

test('the serving role may be that of the address of a socket', async () => {
  await using fixture = await openFixture()
  await fixture.owner.pool.query(`revoke all on batches from ${SERVING}`)
  await grantServing(fixture.owner, `postgres://${SERVING}:p@/name?host=/run/postgresql`)
  expect((await fixture.serving.pool.query('select from batches')).rowCount).toBe(0)
})

test('a role that is a superuser or has the rights of the owner is refused', async () => {
  await using fixture = await openFixture()
  const name = `mighty_${process.pid}`
  await fixture.owner.pool.query(`create role ${name} login superuser`)
  try {
    const url = new URL(fixture.servingUrl)
    url.username = name
    await expect(grantServing(fixture.owner, url.href)).rejects.toThrow(
      `the role "${name}" of DATABASE_URL is a superuser`,
    )
  } finally {
    await fixture.owner.pool.query(`drop role ${name}`)
  }
})

test('a missing role is created with a password that appears in no statement', async () => {
  await using fixture = await openFixture()
  const name = `made_${process.pid}`
  const url = new URL(fixture.servingUrl)
  url.username = name
  url.password = encodeURIComponent('Grüße & mehr: 50 %')
  try {
    await grantServing(fixture.owner, url.href)
    await using db = openDatabase({ url: url.href, poolSize: 1, applicationName: 'test' })
    await db.pool.query('select from batches')
    const { rows } = await fixture.owner.pool.query<{ kept: string }>(
      'select rolpassword as kept from pg_authid where rolname = $1',
      [name],
    )
    const [, salt = ''] = /^SCRAM-SHA-256\$4096:([^$]+)\$/.exec(rows[0]?.kept ?? '') ?? []
    expect(rows[0]?.kept).toBe(scramVerifier('Grüße & mehr: 50 %', Buffer.from(salt, 'base64')))
  } finally {
    await fixture.owner.pool.query(`drop owned by ${name}; drop role ${name}`)
  }
})

test('a role that may not create others says what to do if the serving role is missing', async () => {
  await using fixture = await openFixture()
  const url = new URL(fixture.servingUrl)
  url.username = `missing_${process.pid}`
  await expect(grantServing(fixture.serving, url.href)).rejects.toThrow(
    `create it with "create role missing_${process.pid} login password '...'"`,
  )
})
