import { randomUUID } from 'node:crypto'
import { Option } from 'commander'
import type { Db } from '@plumbline/db/database'
import { readRemaining } from '@plumbline/metering/balance'
import { writeJson, type Shell } from './shell.ts'

/** `--ref`: makes a grant idempotent. */
export function refOption(): Option {
  return new Option('--ref <text>', 'payment or ticket it comes from; counts once')
}

/** The idempotency key of a grant: derived from `--ref`, else new for this run of the command. */
export function sourceRef(ref: string | undefined): string {
  return `cli:${ref ?? randomUUID()}`
}

/** Prints the credits that a grant added, or that it was made before. */
export async function showGrant(
  shell: Shell,
  db: Db,
  id: string,
  outcome: { readonly credits: number; readonly granted: boolean; readonly json: boolean },
): Promise<void> {
  const available = await readRemaining(db, id)
  const credits = outcome.granted ? outcome.credits : 0
  if (outcome.json) {
    writeJson(shell, { account_id: id, granted: credits, available })
    return
  }
  const said = outcome.granted
    ? `${credits} credits were added to ${id}`
    : `Nothing was added to ${id}: this ref counted before`
  shell.write(`${said}; it has ${String(available)}.\n`)
}
