import { openApiDocument } from '@plumbline/contract/openapi'
import { jsonReply, sendReply } from '../reply.ts'
import type { Handler } from './handler.ts'

/** `GET /openapi.json`: the description of every path, made from the shapes that the service reads and writes. */
export function readOpenApi(): Handler {
  const reply = jsonReply(200, openApiDocument())
  return async (_req, res) => sendReply(res, reply)
}
