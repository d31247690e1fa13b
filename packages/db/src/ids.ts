import { randomInt } from 'node:crypto'

/** Base62 digits in the order of their value. */
export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Random base62 characters from the system's generator, without bias. */
export function randomBase62(length: number): string {
  return Array.from({ length }, () => BASE62.charAt(randomInt(BASE62.length))).join('')
}

/** Base62 digits of a time in seconds: enough until the year 3769. */
const TIME_DIGITS = 6

/**
 * An id that begins with its time: `bat_`, 6 base62 digits of seconds since 1970, and 14 random
 * ones (83 bits). Ids sort by time, in indexes and in file stores, so that new entries are close
 * together and old ones can be cut off. The time may be public: batches are visible to their
 * account only.
 */
export function newTimedId(prefix: 'bat' | 'lkp', nowMs = Date.now()): string {
  return `${prefix}_${timePrefix(nowMs)}${randomBase62(14)}`
}

/** The string after which all ids of this time and later sort, by bytes. */
export function idsAfter(prefix: 'bat' | 'lkp', ms: number): string {
  return `${prefix}_${timePrefix(ms)}`
}

function timePrefix(ms: number): string {
  let rest = Math.floor(ms / 1_000)
  let digits = ''
  while (digits.length < TIME_DIGITS) {
    digits = BASE62.charAt(rest % BASE62.length) + digits
    rest = Math.floor(rest / BASE62.length)
  }
  return digits
}

/** An id such as `acc_4fT0...`: a prefix and 16 base62 characters (95 bits). */
export function newId(
  prefix: 'acc' | 'key' | 'usr' | 'ses' | 'inv' | 'whk' | 'msg' | 'dlv' | 'ers',
): string {
  return `${prefix}_${randomBase62(16)}`
}
