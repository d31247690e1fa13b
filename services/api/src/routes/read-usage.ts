import { Problem } from '@plumbline/contract/problem'
import { USAGE_DAYS_MAX, USAGE_PARTS, type UsageView } from '@plumbline/contract/usage'
import { readUsage as usageOf } from '@plumbline/metering/usage'
import { admit, showBalance } from '../access.ts'
import type { Context } from '../context.ts'
import { csvLine } from '../csv-line.ts'
import { readQuery, type Query } from '../query.ts'
import { headersWith } from '../response.ts'
import type { Handler } from './handler.ts'
import { sendView } from './send-view.ts'

/** `GET /v1/usage`: the usage of the account, by day, product and source. */
export function readUsage(ctx: Context): Handler {
  return async (req, res) => {
    const { accountId } = await admit(ctx.access, req, res, { spends: false })
    const query = readQuery(req, ['from', 'to', 'by', 'format'])
    const format = query.oneOf('format', ['json', 'csv'], 'json')
    const by = query.words('by', USAGE_PARTS)
    const asked = by.length === 0 ? (['day'] as const) : by
    const days = daysOf(query)
    const view = await usageOf(ctx.db, accountId, {
      ...days,
      by: USAGE_PARTS.filter((part) => asked.includes(part)),
    })
    if (view === undefined) throw new Error(`account ${accountId} has a key but does not exist`)
    refuseLong(view)
    if (format === 'json') return await sendView(ctx, res, view)
    await showBalance(ctx.access, res)
    const body = csvOf(view)
    res.writeHead(
      200,
      headersWith(res, {
        'Content-Type': 'text/csv; charset=utf-8',
        'Content-Length': String(Buffer.byteLength(body)),
        'Content-Disposition': `attachment; filename="usage-${view.from}-${view.to}.csv"`,
      }),
    )
    res.end(req.method === 'HEAD' ? undefined : body)
  }
}

function daysOf(query: Query): { readonly from: string | null; readonly to: string | null } {
  const from = query.day('from') ?? null
  const to = query.day('to') ?? null
  // Else a day that no usage can have would make the answer reach over all there is.
  if (from !== null && to !== null) refuseLong({ from, to })
  return { from, to }
}

const DAY_MS = 86_400_000

function refuseLong({ from, to }: Pick<UsageView, 'from' | 'to'>): void {
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  if (days >= 1 && days <= USAGE_DAYS_MAX) return
  throw new Problem(
    'bad_request',
    `\`from\` and \`to\` must span 1 to ${USAGE_DAYS_MAX} days, \`from\` first; ask for fewer days.`,
  )
}

function csvOf({ by, data }: UsageView): string {
  const head = csvLine([...by, 'operations', 'credits'])
  const lines = data.map((row) =>
    csvLine([...by.map((part) => row[part] ?? ''), row.operations, row.credits]),
  )
  return [head, ...lines].join('')
}
