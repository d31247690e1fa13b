import { domainToASCII } from 'node:url'
import type { WorldTable } from '../world/table.ts'
import type { MailHost } from '../world/domain.ts'
import { mailboxState } from '../world/mailbox.ts'
import type { Profile } from './profile.ts'

/** How a host replies to a recipient, unless its profile has another reply. */
export type RecipientResult = 'accepted' | 'missing' | 'full' | 'disabled' | 'busy' | 'relay'

/** The result for a recipient at one host; `relay` for domains that have other mail hosts. */
export function recipientResult(
  world: WorldTable,
  host: MailHost,
  profile: Profile,
  address: string,
): RecipientResult {
  const at = address.lastIndexOf('@')
  const typed = address.slice(at + 1).toLowerCase()
  const name = /[^\x21-\x7e]/.test(typed) ? domainToASCII(typed) : typed
  const domain = world.findDomain(name)
  if (domain === undefined) return 'relay'
  const { mail } = domain
  const served =
    mail.kind === 'mx'
      ? mail.exchanges.some(
          (exchange) =>
            exchange.host === host.name || world.addressOf(exchange.host) === host.address,
        )
      : mail.kind === 'implicit' && mail.host === host.name
  if (!served) return 'relay'
  if (profile.acceptsAll === true || domain.acceptsAll === true) return 'accepted'
  const state = mailboxState(world.seed, address.slice(0, at), name, profile.ignoreDots === true)
  return state === 'exists' ? 'accepted' : state
}
