import { batchChange, type BatchChange } from '@plumbline/contract/batch-change'
import { MAPPING_WANTED } from '@plumbline/contract/batch-request'
import { Problem } from '@plumbline/contract/problem'
import { unknownFields } from '@plumbline/contract/requests'
import { changeBatch } from '@plumbline/pipeline/change'
import { admit } from '../access.ts'
import { readAdmittedJson } from '../admitted-json.ts'
import type { Context } from '../context.ts'
import { refuseQuery } from '../query.ts'
import type { Handler } from './handler.ts'
import { batchIdOf } from './path-id.ts'
import { sendView } from './send-view.ts'

/**
 * `PATCH /v1/batches/{id}`: changes how a batch is read and what it checks, before it starts; free.
 */
export function patchBatch(ctx: Context): Handler {
  return async (req, res) => {
    const owner = await admit(ctx.access, req, res, { spends: false })
    const id = batchIdOf(req)
    refuseQuery(req)
    const change = changeOf(await readAdmittedJson(ctx.access, req, res, ctx.settings))
    const view = await changeBatch(ctx.pipeline, owner, id, change)
    await sendView(ctx, res, view)
  }
}

const FIELDS = Object.keys(batchChange.shape)

function changeOf(body: unknown): BatchChange {
  const read = batchChange.safeParse(body)
  if (read.success) return read.data
  const issue = read.error.issues[0]
  if (issue?.path[0] === 'mapping') throw new Problem('bad_request', MAPPING_WANTED)
  if (issue?.code === 'unrecognized_keys') {
    throw new Problem('bad_request', unknownFields(issue.keys, FIELDS))
  }
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body)
  throw new Problem(
    'bad_request',
    isObject && issue !== undefined
      ? issue.message
      : `Send a JSON object with at least one of ${FIELDS.join(', ')}.`,
  )
}
