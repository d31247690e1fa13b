import { changePlanOffer } from '@plumbline/db/offers'
import { Option, type Command } from 'commander'
import { CREDITS_MAX, OFFER_POSITION_MAX } from '@plumbline/contract/plans'
import { actorOf, asOption, type Acting } from '../actor.ts'
import { wholeNumber } from '../arguments.ts'
import { given } from '../given.ts'
import {
  addLimitOptions,
  limitsOf,
  nullIfNone,
  priceCents,
  type LimitOptions,
  type NumberOrNone,
} from '../own-limits.ts'
import { UsageError } from '../refusal.ts'
import { openServiceDatabase } from '../service.ts'
import type { Shell } from '../shell.ts'

interface Options extends Acting, LimitOptions {
  readonly credits?: number
  readonly priceUsd?: NumberOrNone
  readonly testKeys?: 'yes' | 'no'
  readonly offered?: 'yes' | 'no'
  readonly position?: number
}

/** `plan set`: changes or creates a plan. */
export function addPlanSet(parent: Command, shell: Shell): void {
  const command = parent
    .command('set')
    .description('change a plan or make one: credits count from the next cycle, limits at once')
    .argument('<plan>', 'name: lower-case letters, digits and dashes')
    .option('--credits <count>', 'credits a month', wholeNumber({ min: 0, max: CREDITS_MAX }))
    .option('--price-usd <price>', 'a month; none: on request', priceCents)
    .addOption(new Option('--test-keys <answer>', 'whether it has test keys').choices(YES_NO))
    .addOption(new Option('--offered <answer>', 'whether customers are shown it').choices(YES_NO))
    .option(
      '--position <number>',
      'its place in lists',
      wholeNumber({ min: 0, max: OFFER_POSITION_MAX }),
    )
  addLimitOptions(command)
    .addOption(asOption())
    .action((plan: string, options: Options) => run(shell, plan, options))
}

const YES_NO = ['yes', 'no']

async function run(shell: Shell, plan: string, options: Options): Promise<void> {
  const { credits, priceUsd, testKeys, offered, position } = options
  const changes = given({
    monthly_credits: credits,
    price_cents: nullIfNone(priceUsd),
    test_keys: testKeys && testKeys === 'yes',
    is_offered: offered && offered === 'yes',
    position,
    ...limitsOf(options),
  })
  if (Object.keys(changes).length === 0) throw new UsageError('Name what is to be changed.')
  await using db = await openServiceDatabase(shell.environment)
  await changePlanOffer(db, { actor: actorOf(options), plan, changes })
  shell.write(`The plan ${plan} is changed; "plan list" shows it.\n`)
}
