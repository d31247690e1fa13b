import { createHash } from 'node:crypto'
import { Problem } from '@plumbline/contract/problem'
import type { BatchOwner, BatchPosition } from '@plumbline/db/batches/rows'

/** Hexadecimal digits of the checksum that binds a cursor to its owner. */
const CHECK_CHARS = 16

/** The cursor of the next page of an owner's batches, valid for that owner only. */
export function cursorOf(owner: BatchOwner, { createdUs, id }: BatchPosition): string {
  return Buffer.from(`${createdUs}.${id}.${checkOf(owner, createdUs, id)}`).toString('base64url')
}

/**
 * The position that a cursor encodes; it stays valid if the batch there is deleted.
 *
 * @throws Problem `bad_request` for a cursor that was not issued to this owner
 */
export function placeOf(owner: BatchOwner, cursor: string): BatchPosition {
  const text = Buffer.from(cursor, 'base64url').toString('latin1')
  const [, created = '', id = '', check] = /^(\d{1,16})\.(bat_\w{1,60})\.(\w+)$/.exec(text) ?? []
  const createdUs = Number(created)
  if (id === '' || check !== checkOf(owner, createdUs, id)) {
    throw new Problem('bad_request', '`cursor` was not returned by this service.')
  }
  return { createdUs, id }
}

/** Needs no secret: a listing shows only its owner's batches, whatever the cursor says. */
function checkOf({ accountId, mode }: BatchOwner, createdUs: number, id: string): string {
  const text = JSON.stringify([accountId, mode, createdUs, id])
  return createHash('sha256').update(text).digest('hex').slice(0, CHECK_CHARS)
}
