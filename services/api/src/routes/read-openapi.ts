import { openApiDocument } from '@plumbline/contract/openapi'
import type { Context } from '../context.ts'
import { testKeysText } from '../test-key-reference.ts'
import { jsonResponse, sendResponse } from '../response.ts'
import type { Handler } from './handler.ts'

/**
 * `GET /openapi.json`: the description of every path, made from the shapes that the service reads
 * and writes.
 */
export function readOpenApi(ctx: Context): Handler {
  const response = jsonResponse(200, openApiDocument(testKeysText(ctx.scorer)))
  return async (_req, res) => sendResponse(res, response)
}
