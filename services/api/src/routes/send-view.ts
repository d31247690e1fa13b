import type { Response } from 'express'
import { showBalance } from '../access.ts'
import type { Context } from '../context.ts'
import { jsonResponse, sendResponse } from '../response.ts'

/** Sends a view of data of the account, with its balance in the headers. */
export async function sendView(ctx: Context, res: Response, view: object): Promise<void> {
  await showBalance(ctx.access, res)
  sendResponse(res, jsonResponse(200, view))
}
