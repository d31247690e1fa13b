import { Problem } from '@plumbline/contract/problem'
import type { Request } from 'express'

/** The batch id in a path. Throws `Problem('not_found')` for text that is no id of a batch. */
export function batchIdOf(req: Request): string {
  const { id } = req.params
  if (typeof id === 'string' && /^bat_[A-Za-z0-9]{1,60}$/.test(id)) return id
  throw new Problem('not_found', 'There is no batch with this id.')
}
