import { Problem } from '@plumbline/contract/problem'
import { emailKeyOf } from '@plumbline/people/email-key'
import type { People, Visitor } from '@plumbline/people/people'

/**
 * Limits messages by recipient and by sending network.
 *
 * @throws Problem `too_many_requests`
 */
export async function refuseManyMessages(
  { messages }: People,
  { network }: Visitor,
  email: string,
): Promise<void> {
  if ((await messages.network(network)) && (await messages.address(emailKeyOf(email)))) return
  throw new Problem(
    'too_many_requests',
    'Too many messages were asked for; look into your mail, also among spam, or try again in a quarter of an hour.',
    { retryAfterSeconds: 900 },
  )
}
