import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { claimTask, renewTasks, type TaskFence } from '@plumbline/db/batches/tasks'
import type { Account, TestService } from '@plumbline/testkit/service'
import { atMost, bounded, quantile, type Figure } from './figure.ts'
import { onBothBackends, type BenchBackend } from './servers.ts'
import { openSilentHosts, untilWaiting, writeDomains } from './silent-hosts.ts'
import { uploadBatch, waitForEnd } from './upload.ts'

/** Records of the canceled batch, each in a waiting group of its own. */
const RECORDS = 1_000_000

/**
 * Longest time until the cancel is answered, and until the batch has ended with its result file.
 */
const ANSWER_MS = 1_000
const END_MS = 300_000

/**
 * Limits of the effect on other accounts: the ratio for single calls, a batch of ten records, and
 * the renewal of a worker's lease.
 */
const CALLS_MORE = 3
const TEN_MS = 5_000
const RENEWAL_MS = 1_000

const CALLS_A_SECOND = 10
const RENEWALS_A_SECOND = 10
const ALONE_MS = 20_000

/**
 * Cancels a batch of a million waiting tasks, and measures how long that takes and how it affects
 * other accounts.
 *
 * @param scale share of the full number of records
 */
export async function run(scale: number): Promise<readonly Figure[]> {
  return await onBothBackends((backend) => measure(backend, Math.round(RECORDS * scale)))
}

async function measure(backend: BenchBackend, records: number): Promise<readonly Figure[]> {
  await using scene = await openSilentHosts(backend, 'cancel')
  const { service, dir } = scene
  const list = join(dir, 'list.csv')
  const ten = join(dir, 'ten.csv')
  await writeDomains(list, 'away', records)
  await writeDomains(ten, 'known', 10)
  const account = await service.account({ credits: records })
  const other = await service.account({ credits: 1_000_000 })
  const { id } = await uploadBatch(service, account, list, 'email')
  await untilWaiting(service, records)
  await splitTasks(service, id, records)
  const held = await holdTask(service, dir)
  const alone = await othersUntil(service, { other, ten, held }, AbortSignal.timeout(ALONE_MS))
  const done = new AbortController()
  const others = othersUntil(service, { other, ten, held }, done.signal)
  const startedMs = performance.now()
  const response = await service.call(account.liveKey, 'POST', `/v1/batches/${id}/cancel`)
  const answerMs = performance.now() - startedMs
  if (!response.ok) throw new Error(`expected the batch to be canceled, got ${response.status}`)
  await waitForEnd(service, account, id, 200)
  const endMs = performance.now() - startedMs
  done.abort()
  const beside = await others
  const head = { backend: backend.name, unit: 'ms' }
  const named = (name: string): typeof head & { readonly name: string } => ({ ...head, name })
  return [
    bounded(named(`cancel: response, ${records} tasks`), answerMs, ANSWER_MS),
    bounded(named('cancel: end of the batch with its result file'), endMs, END_MS),
    atMost(named('cancel: calls of other accounts, p99'), beside.p99Ms, alone.p99Ms, CALLS_MORE),
    bounded(
      { ...named('cancel: refused calls of other accounts'), unit: 'calls' },
      beside.refused,
      0,
    ),
    bounded(named('cancel: ten records of another account, longest'), beside.longestMs, TEN_MS),
    bounded(named("cancel: renewal of a worker's lease, longest"), beside.renewalMs, RENEWAL_MS),
  ]
}

const CHUNK_RECORDS = 1_000
const CHUNKS_A_STEP = 20

const SPLIT = `
  with whole as (
    delete from tasks where batch_id = $1 and chunk_no >= $2 and chunk_no < $3 and lease_until is null
    returning *
  ), parted as (
    insert into tasks (batch_id, account_id, mode, check_kind, depth, chunk_no, indexes, size, group_key,
      due_at, reason)
    select batch_id, account_id, mode, check_kind, depth, chunk_no, array[at], 1,
      'guard:' || chunk_no || '.' || at, now() + interval '1 hour', reason
    from whole, unnest(indexes) at returning check_kind, group_key
  )
  insert into task_groups (check_kind, group_key, next_at, quiet_until)
  select check_kind, group_key, now() + interval '1 hour', now() + interval '1 hour' from parted`

/** Splits the waiting tasks of a batch, so that each record is in a waiting group of its own. */
async function splitTasks({ db }: TestService, batchId: string, records: number): Promise<void> {
  // A few chunks in each statement, so that none takes long.
  for (let chunk = 0; chunk <= records / CHUNK_RECORDS; chunk += CHUNKS_A_STEP) {
    await db.pool.query(SPLIT, [batchId, chunk, chunk + CHUNKS_A_STEP])
  }
  await db.pool.query('analyze tasks')
  const { rows } = await db.pool.query<{ count: number }>(
    'select count(*)::int as count from tasks',
  )
  const count = rows[0]?.count ?? 0
  if (count < records * 0.99) throw new Error(`expected ${records} tasks to wait, got ${count}`)
}

/** Longer than the whole run. */
const HELD_MS = 86_400_000

/** Claims a task of another batch for the whole run. */
async function holdTask(service: TestService, dir: string): Promise<TaskFence> {
  const list = join(dir, 'held.csv')
  await writeDomains(list, 'apart', 1)
  const { id } = await uploadBatch(service, await service.account({ credits: 1 }), list, 'email')
  for (;;) {
    const { rows } = await service.db.pool.query<{ taskId: number; lease: number }>(
      `update tasks set lease = lease + 1, claimed = false, group_key = null, due_at = null,
         lease_until = now() + interval '1 hour'
       where batch_id = $1 and group_key is not null returning id as "taskId", lease`,
      [id],
    )
    const [leased] = rows
    const claimed = leased && (await claimTask(service.db, leased, HELD_MS))
    if (claimed !== undefined) return claimed
    await wait(200)
  }
}

interface Felt {
  readonly p99Ms: number
  readonly longestMs: number
  readonly renewalMs: number
  readonly refused: number
}

/**
 * Single calls, batches of ten and renewals of a lease, one after the other, until the signal
 * aborts.
 */
async function othersUntil(
  service: TestService,
  others: { readonly other: Account; readonly ten: string; readonly held: TaskFence },
  until: AbortSignal,
): Promise<Felt> {
  const { other, ten, held } = others
  const callsMs: number[] = []
  let longestMs = 0
  let renewalMs = 0
  let refused = 0
  const callAll = async (): Promise<void> => {
    while (!until.aborted) {
      const startedMs = performance.now()
      const body = { email: `u${callsMs.length}@known.example` }
      const { status } = await service.call(other.liveKey, 'POST', '/v1/email', body)
      if (status === 200) callsMs.push(performance.now() - startedMs)
      else refused += 1
      await wait(1_000 / CALLS_A_SECOND)
    }
  }
  const sendAll = async (): Promise<void> => {
    while (!until.aborted) {
      const startedMs = performance.now()
      const { id } = await uploadBatch(service, other, ten, 'email')
      await waitForEnd(service, other, id)
      longestMs = Math.max(longestMs, performance.now() - startedMs)
    }
  }
  const renewAll = async (): Promise<void> => {
    while (!until.aborted) {
      const startedMs = performance.now()
      const alive = await renewTasks(service.db, [held], HELD_MS)
      renewalMs = Math.max(renewalMs, performance.now() - startedMs)
      if (!alive.has(held.taskId)) throw new Error('the lease was lost')
      await wait(1_000 / RENEWALS_A_SECOND)
    }
  }
  await Promise.all([callAll(), sendAll(), renewAll()])
  return { p99Ms: quantile(callsMs, 0.99), longestMs, renewalMs, refused }
}
