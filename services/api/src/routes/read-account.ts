import type { AccountView } from '@plumbline/contract/account'
import type { OwnLimits } from '@plumbline/contract/plans'
import { getAccount } from '@plumbline/db/accounts'
import { readLimits } from '@plumbline/db/limits'
import { readSpending } from '@plumbline/metering/spending'
import { admit } from '../access.ts'
import type { Context } from '../context.ts'
import { requestContextOf } from '../request-context.ts'
import { jsonResponse, sendResponse } from '../response.ts'
import type { ApiSettings } from '../settings.ts'
import type { Handler } from './handler.ts'

/** `GET /v1/account`: plan, credits and limits (decision 36). */
export function readAccount(ctx: Context): Handler {
  return async (req, res) => {
    const caller = await admit(ctx.access, req, res, { spends: false })
    const [balance, spending, own, account] = await Promise.all([
      ctx.metering.balance(caller.accountId),
      readSpending(ctx.db, caller.accountId),
      readLimits(ctx.db, caller.accountId),
      getAccount(ctx.db, caller.accountId),
    ])
    if (balance === undefined || spending === undefined || account === undefined)
      throw new Error(`account ${caller.accountId} has a key but no balance`)
    requestContextOf(res).creditsRemaining = balance.available
    const view: AccountView = {
      plan: balance.plan,
      next_plan: balance.nextPlan,
      time_zone: account.timeZone,
      credits: {
        allowance: balance.allowance,
        packs: balance.packs,
        held: balance.held,
        resets_at: balance.resetsAt.toISOString(),
      },
      spending: {
        today: spending.today,
        daily_limit: spending.dailyLimit,
        low_mark: spending.lowMark,
      },
      limits: limitsOf(ctx.settings, own),
    }
    sendResponse(res, jsonResponse(200, view))
  }
}

function limitsOf(settings: ApiSettings, own: OwnLimits): AccountView['limits'] {
  return {
    calls_per_second: own.calls_per_second ?? settings.RATE_LIMIT_PER_SECOND,
    calls_burst: own.calls_burst ?? settings.RATE_LIMIT_BURST,
    call_seconds: settings.CALL_TIMEOUT_SECONDS,
    body_bytes: settings.BODY_LIMIT_BYTES,
    json_records: settings.RECORDS_LIMIT,
    json_records_bytes: settings.RECORDS_BODY_LIMIT_BYTES,
    json_depth: settings.JSON_DEPTH_LIMIT,
    json_keys: settings.JSON_KEYS_LIMIT,
    upload_bytes: settings.UPLOAD_LIMIT_BYTES,
    upload_rows: own.upload_rows ?? settings.UPLOAD_LIMIT_ROWS,
    upload_columns: settings.UPLOAD_LIMIT_COLUMNS,
    cell_bytes: settings.CELL_LIMIT_BYTES,
    line_bytes: settings.LINE_LIMIT_BYTES,
    unfinished_batches: own.unfinished_batches ?? settings.UNFINISHED_BATCHES_LIMIT,
    stored_bytes: settings.STORED_LIMIT_BYTES,
    hlr_numbers_per_day: own.hlr_numbers_per_day ?? settings.HLR_ACCOUNT_DAILY_CAP,
    downloads_at_once: settings.DOWNLOADS_LIMIT,
    unpaid_rows_per_day: settings.UNPAID_ROWS_PER_DAY,
  }
}
