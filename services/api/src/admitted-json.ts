import type { CALL_LIMITS, LimitsOf } from '@plumbline/contract/limits'
import type { Request, Response } from 'express'
import { refuseLate, type Access } from './access.ts'
import { readJson } from './body.ts'

/**
 * Reads the JSON body of an admitted request, as `readJson` does; a body has half a minute to
 * arrive, so the request is refused if its key or session ended meanwhile, or may not do this any
 * more.
 */
export async function readAdmittedJson(
  access: Access,
  req: Request,
  res: Response,
  settings: LimitsOf<typeof CALL_LIMITS>,
): Promise<unknown> {
  const body = await readJson(req, res, settings)
  await refuseLate(access, req, res)
  return body
}
