import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'

/**
 * Makes a name for a run of this process, `host:pid-random`, 6 random hexadecimal digits. Host and
 * pid alone are not unique: containers on their host's network share its name, and often have the
 * same pid.
 */
export function newInstanceName(): string {
  return `${hostname()}:${process.pid}-${randomBytes(3).toString('hex')}`
}
