import { classifyReply, factsOf } from './classify.ts'
import type { Classified } from './classify.ts'
import type { Line } from './dial.ts'
import type { AcceptAll, AcceptAllFact } from './finding.ts'
import type { Knowledge } from './verdict-cache.ts'
import { REFUSE_UNKNOWN_NAMES } from './providers.ts'
import type { Provider } from './providers.ts'
import type { Batch } from './queue.ts'
import type { Reply } from './reply.ts'

/** What finding out a domain's way with unknown names needs. */
export interface InventionTools {
  readonly knowledge: Knowledge
  /** Questions after an invented mailbox under way, by domain. */
  readonly inventions: Map<string, Promise<AcceptAllFact>>
  readonly sender: string
  readonly inventLocal: () => string
}

/** An invented mailbox is worth a question where somebody wants to know and nobody does. */
export async function mustInvent(
  batch: Batch,
  provider: Provider,
  tools: InventionTools,
): Promise<boolean> {
  if (provider.acceptance === 'nothing' || REFUSE_UNKNOWN_NAMES.has(batch.domain)) return false
  if (!batch.tickets.some((ticket) => ticket.depth === 'extended')) return false
  if (tools.inventions.has(batch.domain)) return false
  return (await tools.knowledge.acceptAll(batch.domain)) === undefined
}

/** Asks for a mailbox that cannot exist; remembered for the domain. */
export function invent(
  line: Line,
  batch: Batch,
  provider: Provider,
  tools: InventionTools,
  apart: boolean,
): Promise<AcceptAllFact> {
  const { domain } = batch
  const flight = (async (): Promise<AcceptAllFact> => {
    const asked = await line.session.ask({
      sender: tools.sender,
      recipients: [`${tools.inventLocal()}@${domain}`],
      begin: apart,
      end: true,
      smtputf8: false,
    })
    const reply = asked.recipients[0]
    const value = reply === undefined ? 'unknown' : acceptAllOf(reply, provider.id)
    tools.knowledge.learn({ findings: [], acceptAll: { domain, value, by: askerOf(batch) } })
    return { value }
  })().finally(() => tools.inventions.delete(domain))
  tools.inventions.set(domain, flight)
  return flight
}

/** Beside an accepted mailbox a lasting refusal of an invented one is about the name. */
function acceptAllOf(reply: Reply, provider: string): AcceptAll {
  if (reply.code === 250 || reply.code === 251) return 'yes'
  const met = classifyReply({ ...factsOf(reply), phase: 'rcpt', provider })
  return reply.code >= 500 && met.party !== 'rate' && !met.retry ? 'no' : 'unknown'
}

/** The domain's way, with what real names taught: a real refusal proves that not all are accepted. */
export async function acceptAllFrom(
  batch: Batch,
  learnt: Promise<AcceptAllFact | undefined>,
  met: readonly Classified[],
  isBlanket: boolean,
  tools: InventionTools,
): Promise<AcceptAllFact> {
  const { domain } = batch
  if (REFUSE_UNKNOWN_NAMES.has(domain)) return { value: 'no' }
  const known: AcceptAllFact = (await learnt) ?? { value: 'unknown' }
  const proves =
    !isBlanket && met.some((each) => each.mailbox === 'missing' && each.confidence === 'high')
  if (!proves || known.value === 'no') return known
  const value = known.value === 'yes' ? 'unknown' : 'no'
  tools.knowledge.learn({ findings: [], acceptAll: { domain, value, by: askerOf(batch) } })
  return { value }
}

/** Whose question taught something of a domain; where several ask at once it is nobody's. */
function askerOf({ tickets }: Batch): string {
  const [first, ...more] = new Set(tickets.map(({ account }) => account))
  return first === undefined || more.length > 0 ? '' : first
}
