import { jsonResponse, sendResponse } from '../response.ts'
import type { Handler } from './handler.ts'

/** `GET /healthz`: the process answers. */
export function readHealth(): Handler {
  return async (_req, res) => sendResponse(res, jsonResponse(200, { status: 'ok' }))
}
