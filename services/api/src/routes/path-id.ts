import type { Problem } from '@plumbline/contract/problem'
import { noSuchBatch } from '@plumbline/pipeline/batch-access'
import type { Request } from 'express'

/** The batch id in a path. @throws Problem `not_found` for text that is no id of a batch */
export function batchIdOf(req: Request): string {
  return pathIdOf(req, 'bat', noSuchBatch)
}

/**
 * The id with a prefix in a path.
 *
 * @throws the refusal of an id that does not exist, for text that is no such id
 */
export function pathIdOf(req: Request, prefix: string, refusal: () => Problem): string {
  const { id } = req.params
  if (typeof id !== 'string') throw refusal()
  if (/^([a-z]{3})_[A-Za-z0-9]{1,60}$/.exec(id)?.[1] !== prefix) throw refusal()
  return id
}
