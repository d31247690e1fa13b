import type { Product } from '@plumbline/contract/products'
import {
  USAGE_PARTS,
  type UsagePart,
  type UsageSource,
  type UsageView,
} from '@plumbline/contract/usage'
import type { Db } from '@plumbline/db/database'
import { runStatement } from './statement.ts'

/** Product and source of a single call, for usage statistics. */
export interface CallUse {
  readonly product: Product
  readonly source: Exclude<UsageSource, 'batch'>
}

/** Range of days, and how to group them. */
export interface UsageRequest {
  /** First day, `2026-11-01`; null means 29 days before the last. */
  readonly from: string | null
  /** Last day; null means today. */
  readonly to: string | null
  /** Grouping, in the order of the result's rows. */
  readonly by: readonly UsagePart[]
}

type UsageRow = UsageView['data'][number] & {
  readonly from_day: string
  readonly to_day: string
  readonly time_zone: string
  /** 0 in the single row that is returned if nothing was used in the range of days. */
  readonly row_count: number
}

/**
 * Usage of an account on some of its days, by its calendar; undefined if there is no account. Reads
 * a row for each day, product and source, and one for each batch and day, however many operations
 * they count.
 */
export async function readUsage(
  db: Db,
  accountId: string,
  { from, to, by }: UsageRequest,
): Promise<UsageView | undefined> {
  const parts = by.length === 0 ? '()' : by.join(', ')
  const rows = await runStatement<UsageRow>(db, {
    name: `metering.usage-${by.join('-')}`,
    text: `
      with days as (
        select time_zone, coalesce($2::date, last - 29) as first, last from (
          select time_zone, coalesce($3::date, (now() at time zone time_zone)::date) as last
          from accounts where id = $1) a
      ), used as (
        select ${[...by, ''].join(', ')} sum(operations)::bigint as operations,
          sum(credits)::bigint as credits, count(*) as row_count
        from credit_usage, days
        where account_id = $1 and day between first and last
        group by ${parts}
      )
      select first as from_day, last as to_day, time_zone,
        ${by.map((part) => `used.${part}, `).join('')}
        coalesce(operations, 0) as operations, coalesce(credits, 0) as credits,
        coalesce(row_count, 0) as row_count
      from days left join used on operations <> 0 or credits <> 0
      ${by.length === 0 ? '' : `order by ${parts}`}`,
    values: [accountId, from, to],
  })
  const [first] = rows
  if (first === undefined) return undefined
  const data = rows.filter(({ row_count }) => row_count > 0).map((row) => rowOf(row, by))
  const sum = (which: 'operations' | 'credits'): number =>
    data.reduce((total, row) => total + row[which], 0)
  return {
    from: first.from_day,
    to: first.to_day,
    time_zone: first.time_zone,
    by: [...by],
    data,
    total: { operations: sum('operations'), credits: sum('credits') },
  }
}

function rowOf(row: UsageRow, by: readonly UsagePart[]): UsageView['data'][number] {
  const parts = USAGE_PARTS.filter((part) => by.includes(part)).map((part) => [part, row[part]])
  return { ...Object.fromEntries(parts), operations: row.operations, credits: row.credits }
}
