import { createAccount } from '@plumbline/db/accounts'
import { openDatabase, type Db } from '@plumbline/db/database'
import { migrate } from '@plumbline/db/migrate'
import { auditLedger } from '@plumbline/testkit/audit-ledger'
import { grantGoodwill } from '@plumbline/metering/grant'
import { createMetering } from '@plumbline/metering/metering'
import { atLeast, type Figure } from './figure.ts'
import { startPostgres } from './servers.ts'

const CALLERS = 64
const SECONDS = 4

/**
 * Debits by group commit with 64 concurrent callers, compared with one transaction for each debit
 * with as many connections.
 */
export async function run(): Promise<readonly Figure[]> {
  await using server = await startPostgres()
  await using db = openDatabase({ url: server.url, poolSize: 8, applicationName: 'bench' })
  await using wide = openDatabase({
    url: server.url,
    poolSize: CALLERS,
    applicationName: 'bench baseline',
  })
  await migrate(db)
  const figures = [
    await compare({ db, wide, name: 'metering: one account', accounts: 1, target: 20 }),
    await compare({ db, wide, name: 'metering: 1,000 accounts', accounts: 1_000, target: 3 }),
  ]
  const faults = await auditLedger(db)
  if (faults.length > 0) throw new Error(`the ledger has faults: ${JSON.stringify(faults[0])}`)
  return figures
}

interface Contest {
  readonly db: Db
  readonly wide: Db
  readonly name: string
  readonly accounts: number
  readonly target: number
}

async function compare(contest: Contest): Promise<Figure> {
  const baseline = await perSecond(
    await fundedAccounts(contest),
    `b-${contest.accounts}`,
    (debit) => debitAlone(contest.wide, debit),
  )
  const ids = await fundedAccounts(contest)
  await using metering = createMetering(contest.db)
  const figure = await perSecond(ids, `g-${contest.accounts}`, async (debit) => {
    const answer = await metering.debit(debit)
    if (!answer.granted) throw new Error(`a debit was refused with ${answer.available} left`)
  })
  return atLeast(
    { name: contest.name, backend: 'postgres', unit: 'debits/s' },
    figure,
    baseline,
    contest.target,
  )
}

async function fundedAccounts(contest: Contest): Promise<readonly string[]> {
  const ids: string[] = []
  for (let n = 0; n < contest.accounts; n += 1) {
    const account = await createAccount(contest.db, {
      email: `bench-${n}@example.com`,
      plan: 'pro',
    })
    ids.push(account.id)
    if (contest.accounts === 1) await grantGoodwill(contest.db, account.id, 100_000_000, 'bench')
  }
  return ids
}

interface Debit {
  readonly accountId: string
  readonly opKey: string
  readonly credits: number
}

async function perSecond(
  accounts: readonly string[],
  prefix: string,
  debit: (debit: Debit) => Promise<void>,
): Promise<number> {
  let started = 0
  let done = 0
  const begin = performance.now()
  const end = begin + SECONDS * 1_000
  async function caller(): Promise<void> {
    while (performance.now() < end) {
      const n = started
      started += 1
      // A stride prime to the number of accounts spreads neighbours over all of them.
      const accountId = accounts[(n * 7_919) % accounts.length] ?? ''
      await debit({ accountId, opKey: `${prefix}-${n}`, credits: 1 })
      done += 1
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  return done / ((performance.now() - begin) / 1_000)
}

/** A debit without group commit: lock, check, write the operation and the balance, commit. */
async function debitAlone(db: Db, debit: Debit): Promise<void> {
  const client = await db.pool.connect()
  try {
    await client.query('begin')
    const { rows } = await client.query<{ allowance: number; packs: number; period_no: number }>({
      name: 'bench.lock',
      text: `select allowance, packs, period_no from credit_accounts where account_id = $1
        for no key update`,
      values: [debit.accountId],
    })
    const [row] = rows
    if (row === undefined || row.allowance + row.packs < debit.credits) throw new Error('short')
    const fromAllowance = Math.min(row.allowance, debit.credits)
    await client.query({
      name: 'bench.entry',
      text: `insert into credit_entries (account_id, op_key, kind, allowance_delta, packs_delta,
        held_delta, period_no) values ($1, $2, 'debit', $3, $4, 0, $5)`,
      values: [
        debit.accountId,
        debit.opKey,
        -fromAllowance,
        fromAllowance - debit.credits,
        row.period_no,
      ],
    })
    await client.query({
      name: 'bench.unanswered',
      text: 'insert into credit_unanswered (account_id, op_key) values ($1, $2)',
      values: [debit.accountId, debit.opKey],
    })
    await client.query({
      name: 'bench.update',
      text: `update credit_accounts set allowance = allowance - $2, packs = packs - $3
        where account_id = $1`,
      values: [debit.accountId, fromAllowance, debit.credits - fromAllowance],
    })
    await client.query('commit')
  } finally {
    client.release()
  }
}
