import { argon2, randomBytes, timingSafeEqual, type Argon2Parameters } from 'node:crypto'
import { promisify } from 'node:util'
import { MESSAGES, Problem } from '@plumbline/contract/problem'
import { createSemaphore } from '@plumbline/concurrency/semaphore'

/** Argon2id: memory in KiB, passes, lanes. Source: OWASP Password Storage Cheat Sheet, 2026-11. */
const COST = { memory: 19_456, passes: 2, parallelism: 1 } as const
const TAG_BYTES = 32
const SALT_BYTES = 16

/**
 * Maximum number of concurrent hashes: each takes a thread of libuv's pool, which DNS and files
 * share, and 19 MiB.
 */
const AT_ONCE = 2
/** Maximum number of waiting hashes, some two seconds of work; further requests are refused. */
const WAITING_MAX = 100

/** Makes and checks the stored digests of passwords, a few at a time. */
export interface PasswordHasher {
  /**
   * The stored digest of a password: PHC string format, Argon2id with a random salt.
   *
   * @throws Problem `unavailable` if too many wait
   */
  hash(password: string): Promise<string>
  /**
   * Whether a password matches a digest. Without a digest the same work is done, so that the time
   * reveals nothing.
   *
   * @throws Problem `unavailable` if too many wait
   */
  matches(password: string, kept: string | undefined): Promise<boolean>
}

/** Makes the hasher of a process: its limits hold for all calls together. */
export function createPasswordHasher(): PasswordHasher {
  const digest = createDigest()
  return {
    async hash(password) {
      const salt = randomBytes(SALT_BYTES)
      const tag = await digest(password, salt, COST)
      const { memory, passes, parallelism } = COST
      return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(tag)}`
    },
    async matches(password, kept) {
      const parts = SHAPE.exec(kept ?? '')
      const [, memory = COST.memory, passes = COST.passes, lanes = COST.parallelism, salt, tag] =
        parts ?? []
      const expected = tag === undefined ? randomBytes(TAG_BYTES) : Buffer.from(tag, 'base64')
      const actual = await digest(
        password,
        salt === undefined ? randomBytes(SALT_BYTES) : Buffer.from(salt, 'base64'),
        {
          memory: Number(memory),
          passes: Number(passes),
          parallelism: Number(lanes),
        },
      )
      const isSame = actual.length === expected.length && timingSafeEqual(actual, expected)
      return isSame && parts !== null
    },
  }
}

const SHAPE = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([\w+/]{22})\$([\w+/]{43})$/

const argon2Async = promisify(argon2)

type Digest = (
  password: string,
  nonce: Buffer,
  cost: Pick<Argon2Parameters, 'memory' | 'passes' | 'parallelism'>,
) => Promise<Buffer>

function createDigest(): Digest {
  const places = createSemaphore(AT_ONCE)
  let waiting = 0
  return async (password, nonce, cost) => {
    if (waiting >= WAITING_MAX) {
      throw new Problem('unavailable', MESSAGES.unavailable, { retryAfterSeconds: 2 })
    }
    waiting += 1
    try {
      // NFC, so that the same letters of another keyboard are the same password (NIST SP 800-63B-4,
      // 3.1.1.2).
      const message = Buffer.from(password.normalize('NFC'), 'utf8')
      return await places.run(() =>
        argon2Async('argon2id', { message, nonce, tagLength: TAG_BYTES, ...cost }),
      )
    } finally {
      waiting -= 1
    }
  }
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}
