import { changePackOffer } from '@plumbline/db/offers'
import { Option, type Command } from 'commander'
import { CREDITS_MAX, OFFER_POSITION_MAX } from '@plumbline/contract/plans'
import { actorOf, asOption, type Acting } from '../actor.ts'
import { wholeNumber } from '../arguments.ts'
import { given } from '../given.ts'
import { nullIfNone, priceCents, type NumberOrNone } from '../own-limits.ts'
import { UsageError } from '../refusal.ts'
import { openServiceDatabase } from '../service.ts'
import type { Shell } from '../shell.ts'

interface Options extends Acting {
  readonly credits?: number
  readonly priceUsd?: NumberOrNone
  readonly offered?: 'yes' | 'no'
  readonly position?: number
}

/** `pack set`: changes or creates an add-on pack. */
export function addPackSet(parent: Command, shell: Shell): void {
  parent
    .command('set')
    .description('change an add-on pack or make one; what was bought before stays as it was')
    .argument('<pack>', 'name: lower-case letters, digits and dashes')
    .option('--credits <count>', 'its credits', wholeNumber({ min: 1, max: CREDITS_MAX }))
    .option('--price-usd <price>', 'its price; none: on request', priceCents)
    .addOption(
      new Option('--offered <answer>', 'whether customers are shown it').choices(['yes', 'no']),
    )
    .option(
      '--position <number>',
      'its place in lists',
      wholeNumber({ min: 0, max: OFFER_POSITION_MAX }),
    )
    .addOption(asOption())
    .action((pack: string, options: Options) => run(shell, pack, options))
}

async function run(shell: Shell, pack: string, options: Options): Promise<void> {
  const { credits, priceUsd, offered, position } = options
  const changes = given({
    credits,
    price_cents: nullIfNone(priceUsd),
    is_offered: offered && offered === 'yes',
    position,
  })
  if (Object.keys(changes).length === 0) throw new UsageError('Name what is to be changed.')
  await using db = await openServiceDatabase(shell.environment)
  await changePackOffer(db, { actor: actorOf(options), pack, changes })
  shell.write(`The pack ${pack} is changed; "pack list" shows it.\n`)
}
