import { jsonReply, sendReply } from '../reply.ts'
import type { Handler } from './handler.ts'

/** `GET /healthz`: the process answers. */
export function readHealth(): Handler {
  return async (_req, res) => sendReply(res, jsonReply(200, { status: 'ok' }))
}
