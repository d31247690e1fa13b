import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, dirname } from 'node:path'
import { Problem } from '@plumbline/contract/problem'

/**
 * Entries from the top of the ranked list that are refused, besides every entry that has the
 * minimum length of a password.
 */
const MOST_COMMON = 10_000
/** Shorter entries are not refused as the core of a password: that would refuse far too many. */
const CORE_MIN_CHARS = 4
/** Words about this service, which are likely in a password for it. */
const CONTEXT_WORDS: readonly string[] = ['plumbline', 'validation', 'enrichment', 'verification']
/** Minimum number of different characters of a password. */
const DIFFERENT_MIN = 5
/** Number of repetitions of a part from which on a password is refused. */
const REPEATS = 3

/**
 * Refuses a password that is easy to guess: a common one, one with digits or punctuation around it,
 * one that repeats itself or follows the keyboard or alphabet, the user's own name or address, or a
 * word about this service.
 *
 * @throws Problem `unprocessable` with what to do
 */
export async function refuseCommonPassword(
  password: string,
  own: readonly string[],
): Promise<void> {
  const plain = password.normalize('NFKC').toLowerCase()
  const cores = coresOf(plain)
  const common = await commonPasswords()
  const ownWords = own.flatMap((text) => text.toLowerCase().split(/[^\p{L}\p{N}]+/u))
  const isOwn = [...CONTEXT_WORDS, ...ownWords].some((word) => cores.includes(word))
  const isCommon = [plain, ...cores].some((text) => common.has(text))
  if (!isOwn && !isCommon && !isRepeated(plain, common) && !isRun(plain)) return
  throw new Problem(
    'unprocessable',
    'This password is among those that are guessed first; choose another, for example four words that have nothing to do with each other.',
  )
}

/**
 * Possible cores of a password: without digits and punctuation at both ends, and with those within
 * read as letters.
 */
function coresOf(plain: string): readonly string[] {
  const bare = plain.replaceAll(AROUND, '')
  const meant = [bare, plain].map((text) =>
    text.replaceAll(/[043$15@7]/g, (sign) => MEANT[sign] ?? sign).replaceAll(AROUND, ''),
  )
  return [bare, ...meant].filter((core) => core.length >= CORE_MIN_CHARS)
}

const AROUND = /^[^\p{L}]+|[^\p{L}]+$/gu

const MEANT: Readonly<Record<string, string>> = {
  '0': 'o',
  '4': 'a',
  '3': 'e',
  $: 's',
  '1': 'i',
  '5': 's',
  '@': 'a',
  '7': 't',
}

/** Whether a password repeats a part: `passwordpassword`, `abcabcabcabc`, `aaaaaaaaaaab`. */
function isRepeated(plain: string, common: ReadonlySet<string>): boolean {
  if (new Set(plain).size < DIFFERENT_MIN) return true
  for (let size = 1; size <= plain.length / 2; size += 1) {
    const unit = plain.slice(0, size)
    const whole = unit.repeat(Math.ceil(plain.length / size)).slice(0, plain.length)
    if (whole !== plain) continue
    if (plain.length / size >= REPEATS || common.has(unit)) return true
  }
  return false
}

const RUNS = ['abcdefghijklmnopqrstuvwxyz', '01234567890123456789', 'qwertyuiopasdfghjklzxcvbnm']
  .flatMap((run) => [run, [...run].toReversed().join('')])
  .map((run) => run + run)

/** Whether a password is one run along the alphabet, the digits or the keyboard, from any start. */
function isRun(plain: string): boolean {
  return RUNS.some((run) => run.includes(plain))
}

let loaded: Promise<ReadonlySet<string>> | undefined

/** The list, loaded when first needed: most processes never need it. */
function commonPasswords(): Promise<ReadonlySet<string>> {
  loaded ??= readList().catch((error: unknown) => {
    loaded = undefined
    throw error
  })
  return loaded
}

async function readList(): Promise<ReadonlySet<string>> {
  const require = createRequire(import.meta.url)
  const packaged = dirname(dirname(require.resolve('@zxcvbn-ts/language-common')))
  const list: unknown = JSON.parse(await readFile(join(packaged, 'src', 'passwords.json'), 'utf8'))
  if (!Array.isArray(list) || !list.every((entry) => typeof entry === 'string')) {
    throw new Error('the packaged list of passwords has another form than expected: an array')
  }
  return new Set(list.filter((entry, at) => at < MOST_COMMON || entry.length >= 12))
}
