import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { KeyMode } from '@plumbline/contract/plans'
import { BASE62, randomBase62 } from './ids.ts'

/** Random characters of a key: 190 bits. Source: decision 17. */
const SECRET_LENGTH = 32

/** 62^6 exceeds 2^32, so six characters hold a CRC-32. Source: decision 17. */
const CHECKSUM_LENGTH = 6

const SHAPE = new RegExp(
  `^([a-z][a-z0-9]{0,15})_(live|test)_([0-9A-Za-z]{${SECRET_LENGTH}})([0-9A-Za-z]{${CHECKSUM_LENGTH}})$`,
)

/** The parts that a key itself contains, known without a query. */
export interface KeyParts {
  /** `svc_live_`. */
  readonly prefix: string
  readonly mode: KeyMode
  readonly last4: string
}

/**
 * A new random key: `svc_live_`, 32 base62 characters and 6 characters of checksum over the rest.
 */
export function newKey(service: string, mode: KeyMode): string {
  const body = `${service}_${mode}_${randomBase62(SECRET_LENGTH)}`
  return body + checksumOf(body)
}

/** The parts of a well-formed key; undefined if its form, service or checksum is wrong. */
export function parseKey(service: string, key: string): KeyParts | undefined {
  const match = SHAPE.exec(key)
  if (match === null || match[1] !== service) return undefined
  if (checksumOf(key.slice(0, -CHECKSUM_LENGTH)) !== match[4]) return undefined
  const mode = match[2] === 'live' ? 'live' : 'test'
  return { prefix: `${service}_${mode}_`, mode, last4: key.slice(-4) }
}

/** SHA-256 of the whole key, the only stored form: a random key needs no slow hash. */
export function digestOf(key: string): Buffer {
  return createHash('sha256').update(key, 'utf8').digest()
}

/** CRC-32 (IEEE 802.3) of the ASCII bytes as six base62 digits, most significant first. */
export function checksumOf(body: string): string {
  let rest = crc32(body)
  let digits = ''
  for (let place = 0; place < CHECKSUM_LENGTH; place += 1) {
    digits = BASE62.charAt(rest % 62) + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}
