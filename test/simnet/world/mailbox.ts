import { hashFraction } from '../random.ts'
import { FAMILY_NAMES, GIVEN_NAMES, ROLE_NAMES, UTF8_NAMES } from './names.ts'

/** The state of a mailbox; `busy` exists and is receiving mail too fast at present. */
export type MailboxState = 'exists' | 'missing' | 'full' | 'disabled' | 'busy'

const GIVEN: ReadonlySet<string> = new Set([...GIVEN_NAMES, ...UTF8_NAMES])
const FAMILY: ReadonlySet<string> = new Set(FAMILY_NAMES)
const ROLES: ReadonlySet<string> = new Set(ROLE_NAMES)
const ALWAYS: ReadonlySet<string> = new Set(['postmaster', 'abuse'])

/**
 * The state of a mailbox: a pure function of seed and address. Only names that people or benchmarks
 * would use (`ada.flintmoor`, `a.flintmoor`, `sales`, `user17`) can exist, so that an invented name
 * of a prober is missing; of those 74 % exist, 3 % are full, 3 % disabled, 20 % missing. `busy.`
 * before a name makes its owner busy; a tag after `+` is not part of the name; case does not
 * matter. With `ignoreDots` (Google) dots do not matter either.
 */
export function mailboxState(
  seed: number,
  localPart: string,
  domain: string,
  ignoreDots = false,
): MailboxState {
  let local = localPart.toLowerCase()
  const plus = local.indexOf('+')
  if (plus > 0) local = local.slice(0, plus)
  if (local.startsWith('"') && local.endsWith('"')) local = local.slice(1, -1)
  if (ALWAYS.has(local)) return 'exists'
  const busy = local.startsWith('busy.')
  if (busy) local = local.slice(5)
  if (!isNameLike(local)) return 'missing'
  if (busy) return 'busy'
  const key = ignoreDots ? local.replaceAll('.', '') : local
  const x = hashFraction(seed, `${key}@${domain}`)
  if (x < 0.74) return 'exists'
  if (x < 0.77) return 'full'
  return x < 0.8 ? 'disabled' : 'missing'
}

/** Whether a local part has a form that can exist in the world. */
function isNameLike(local: string): boolean {
  if (isNumbered(local) || ROLES.has(local)) return true
  const letters = local.replace(/[0-9]{0,4}$/, '').replace(/[._-]/g, '')
  if (letters.length > 24) return false
  if (GIVEN.has(letters)) return true
  for (let cut = 1; cut < letters.length && cut < 12; cut++) {
    if ((cut === 1 || GIVEN.has(letters.slice(0, cut))) && FAMILY.has(letters.slice(cut)))
      return true
  }
  return false
}

/** `user` and digits, the form that large benchmarks use. */
function isNumbered(local: string): boolean {
  if (!local.startsWith('user') || local.length < 5 || local.length > 13) return false
  for (let i = 4; i < local.length; i++) {
    const c = local.charCodeAt(i)
    if (c < 48 || c > 57) return false
  }
  return true
}
