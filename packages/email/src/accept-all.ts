import { classifyReply, factsOf, isAcceptance } from './classify.ts'
import type { Classified } from './classify.ts'
import type { SmtpConnection } from './connect.ts'
import type { AcceptAll, AcceptAllFact } from './probe-result.ts'
import type { ProbeCache } from './probe-cache.ts'
import { REFUSE_UNKNOWN_NAMES } from './providers.ts'
import type { Provider } from './providers.ts'
import type { Recipients } from './probe-queue.ts'
import type { RecipientTokens } from './recipient-tokens.ts'
import type { NamedRecipient } from './reply-masks.ts'
import type { Reply } from './smtp-reply.ts'

/** Dependencies of an accept-all probe. */
export interface AcceptAllTools {
  readonly cache: ProbeCache
  /** Accept-all probes in flight, by domain. */
  readonly acceptAllProbes: Map<string, Promise<AcceptAllFact>>
  readonly sender: string
  readonly randomLocal: () => string
}

/**
 * Whether a caller asks if the domain is accept-all, and that is neither cached nor being probed.
 */
export async function needsAcceptAllProbe(
  recipients: Recipients,
  provider: Provider,
  tools: AcceptAllTools,
): Promise<boolean> {
  if (provider.acceptance === 'nothing' || REFUSE_UNKNOWN_NAMES.has(recipients.domain)) return false
  if (!recipients.probes.some((probe) => probe.depth === 'extended')) return false
  if (tools.acceptAllProbes.has(recipients.domain)) return false
  return (await tools.cache.acceptAll(recipients.domain)) === undefined
}

/**
 * Probes a random mailbox, which cannot exist, and caches the result for the domain; unknown, and not
 * cached, if no more recipients may be named now.
 */
export function probeAcceptAll(
  connection: SmtpConnection,
  recipients: Recipients,
  provider: Provider,
  tools: AcceptAllTools,
  apart: boolean,
  tokens: RecipientTokens,
): Promise<AcceptAllFact> {
  const { domain } = recipients
  const local = tools.randomLocal()
  const current = (async (): Promise<AcceptAllFact> => {
    const asked = await connection.session.ask({
      sender: tools.sender,
      recipients: [`${local}@${domain}`],
      begin: apart,
      end: true,
      smtputf8: false,
      mayName: tokens.use,
    })
    if (asked.isDenied) return { value: 'unknown' }
    const reply = asked.recipients[0]
    const value =
      reply === undefined ? 'unknown' : acceptAllOf(reply, provider.id, { local, domain })
    tools.cache.remember({ results: [], acceptAll: { domain, value, by: accountOf(recipients) } })
    return { value }
  })().finally(() => tools.acceptAllProbes.delete(domain))
  tools.acceptAllProbes.set(domain, current)
  return current
}

/** After an accepted mailbox, a permanent refusal of the random name is about the name. */
function acceptAllOf(reply: Reply, provider: string, recipient: NamedRecipient): AcceptAll {
  if (isAcceptance(reply.code)) return 'yes'
  const meaning = classifyReply({ ...factsOf(reply), phase: 'rcpt', provider, recipient })
  return reply.code >= 500 && !meaning.retry ? 'no' : 'unknown'
}

/**
 * Whether the domain is accept-all, also judged by real recipients: a missing mailbox proves that
 * it is not.
 */
export async function acceptAllFrom(
  recipients: Recipients,
  learnt: Promise<AcceptAllFact | undefined>,
  meanings: readonly Classified[],
  isUniform: boolean,
  tools: AcceptAllTools,
): Promise<AcceptAllFact> {
  const { domain } = recipients
  if (REFUSE_UNKNOWN_NAMES.has(domain)) return { value: 'no' }
  const known: AcceptAllFact = (await learnt) ?? { value: 'unknown' }
  const proves =
    !isUniform && meanings.some((each) => each.mailbox === 'missing' && each.confidence === 'high')
  if (!proves || known.value === 'no') return known
  const value = known.value === 'yes' ? 'unknown' : 'no'
  tools.cache.remember({ results: [], acceptAll: { domain, value, by: accountOf(recipients) } })
  return { value }
}

/** The account of the probes; empty if recipients of several accounts shared the transaction. */
function accountOf({ probes }: Recipients): string {
  const [first, ...more] = new Set(probes.map(({ account }) => account))
  return first === undefined || more.length > 0 ? '' : first
}
