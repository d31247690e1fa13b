import { Problem } from '@plumbline/contract/problem'
import type { User } from '@plumbline/db/people/users'
import { tooManyTries } from './attempts.ts'
import { linkTo } from './link.ts'
import { queueMessage, type People, type Visitor } from './people.ts'
import { useFactor } from './second-factor.ts'

/** Prefix of the budgets that count wrong codes of a day. */
export const FACTOR_BUDGETS = 'second-factor:'

/**
 * Wrong codes that a user may enter in a day. Three codes of a million are right at any time, so
 * that a year of guesses succeeds for 2 of 100 users.
 */
const WRONG_CODES_A_DAY = 20

/**
 * Whether a code of the user's second factor is valid; uses it up. Who guesses knows the password:
 * the user is notified, and a new password is a new start.
 *
 * @throws Problem `too_many_requests` after too many attempts
 */
export async function isFactor(
  people: People,
  visitor: Visitor,
  user: User,
  code: string,
): Promise<boolean> {
  if (!(await people.tries.user(`factor ${user.id}`))) throw tooManyTries()
  const ofPassword = people.sealer.digest(`second factor ${user.id} ${user.passwordDigest}`)
  const taken = await people.takeOfDay(`${FACTOR_BUDGETS}${ofPassword}`, WRONG_CODES_A_DAY)
  if (taken === undefined) {
    await tellOfGuesses(people, visitor, user)
    throw tooManyCodes()
  }
  const secret = people.sealer.decrypt(user.factor ?? '', factorName(user.id))
  const isRight = await useFactor(people.db, user, secret, code)
  if (isRight) await taken.giveBack()
  return isRight
}

/** Associated data under which the secret of a second factor is encrypted. */
export function factorName(userId: string): string {
  return `second factor ${userId}`
}

/** The refusal of a wrong code. */
export function wrongCode(): Problem {
  return new Problem(
    'unprocessable',
    'The code is not right or was used before; enter the one that your app shows now.',
  )
}

/** Notifies a user of many wrong codes, once a day. */
async function tellOfGuesses(people: People, visitor: Visitor, user: User): Promise<void> {
  if (!people.settings.hasMail) return
  if ((await people.takeOfDay(`${FACTOR_BUDGETS}told:${user.id}`, 1)) === undefined) return
  const link = linkTo(people, visitor, 'reset')
  const { email: to, name } = user
  await queueMessage(people, people.db, { kind: 'second_factor_guessed', to, name, link })
  people.wakeMail()
}

function tooManyCodes(): Problem {
  return new Problem(
    'too_many_requests',
    'Too many wrong codes today; try again tomorrow, or set a new password first.',
    { retryAfterSeconds: 3_600 },
  )
}
