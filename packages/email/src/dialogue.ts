import type { Json } from '@plumbline/contract/outcome'
import type { BlanketGuard } from './uniform-rejection.ts'
import { acceptAllFrom, invent, mustInvent } from './accept-all.ts'
import type { InventionTools } from './accept-all.ts'
import { classifyReply, factsOf } from './classify.ts'
import type { Classified } from './classify.ts'
import { faultReason } from './dial.ts'
import type { Line } from './dial.ts'
import { findingOf, maskedText, restingOn, unknownFinding, verdictOf } from './finding.ts'
import type { AcceptAllFact } from './finding.ts'
import type { Provider } from './providers.ts'
import type { Lesson } from './verdict-cache.ts'
import type { Batch, Ticket } from './queue.ts'
import type { Reply } from './reply.ts'

/** What a dialogue needs beside its session. */
export interface DialogueTools extends InventionTools {
  readonly blanket: BlanketGuard
  /** Our own names, and the sender's domain after an at sign: a refusal that holds one is about us. */
  readonly own: readonly string[]
  /** Told of each reply that no rule knows, for the operator's log. */
  readonly unclassified: (provider: string, reply: Reply) => void
  /** Told of what went wrong while verdicts were settled beside the session. */
  readonly failed: (error: unknown) => void
}

/** What a transaction told beside its verdicts. */
export interface Told {
  /** Tickets that had no reply, to be asked in another session. */
  readonly again: readonly Ticket[]
  readonly accepted: boolean
  /** We were refused and nobody was accepted. */
  readonly refusedUs: boolean
  /** The server asked to go slower. */
  readonly pressed: boolean
  /** It takes fewer recipients at once than were named. */
  readonly tooMany: boolean
  readonly refusals: number
}

/** Dialogues a ticket may lose before it ends as unknown. */
const ATTEMPTS_MAX = 2

/** Asks for one batch in one transaction and settles its tickets. */
export async function converse(
  line: Line,
  batch: Batch,
  provider: Provider,
  group: string,
  tools: DialogueTools,
): Promise<Told> {
  const { session } = line
  const { domain, tickets } = batch
  const utf8 = tickets[0]?.utf8 === true
  if (utf8 && !session.smtputf8) {
    const finding = unknownFinding(
      'smtputf8_unsupported',
      evidenceOf(line, batch, provider, null, ''),
    )
    for (const ticket of tickets) ticket.settle({ kind: 'finding', finding })
    return {
      again: [],
      accepted: false,
      refusedUs: false,
      pressed: false,
      tooMany: false,
      refusals: 0,
    }
  }
  const invents = await mustInvent(batch, provider, tools)
  const apart = provider.recipientsPerTransaction === 1
  const asked = await session.ask({
    sender: tools.sender,
    recipients: tickets.map((ticket) => ticket.address),
    begin: true,
    end: !invents || apart,
    smtputf8: utf8,
  })
  if (asked.sender !== null) return senderRefused(line, batch, provider, asked.sender, tools)
  const own = ownNames(tools, domain)
  const met = asked.recipients.map((reply) =>
    classifyReply({ ...factsOf(reply), phase: 'rcpt', provider: provider.id, own }),
  )
  asked.recipients.forEach((reply, at) => {
    if (met[at]?.reason === 'unclassified_reply') tools.unclassified(provider.id, reply)
  })
  const accepted = met.some((each) => each.mailbox === 'accepted')
  if (accepted) tools.blanket.accepted(group)
  // Another dialogue with the domain may have begun or ended the same question meanwhile.
  const isInventing =
    invents && accepted && session.usable && (await mustInvent(batch, provider, tools))
  const learnt = isInventing
    ? invent(line, batch, provider, tools, apart)
    : (tools.inventions.get(domain) ?? tools.knowledge.acceptAll(domain))
  if (invents && !isInventing && !apart && session.usable) await session.reset()
  if (isInventing) await learnt
  const isBlanket = await blanketOf(line, batch, group, asked.recipients, met, tools)
  const told = tell(tickets, asked.recipients, met)
  const open = new Set([...told.later, ...told.lost])
  const answered = tickets.filter((ticket) => !open.has(ticket))
  // The session goes on while another dialogue finds out about the domain.
  settleAll(line, batch, provider, asked.recipients, met, learnt, isBlanket, tools).catch(
    (error: unknown) => giveUp(answered, provider, error, tools),
  )
  for (const ticket of told.lost) {
    if (++ticket.attempts < ATTEMPTS_MAX) continue
    const finding = unknownFinding(
      faultReason(asked.fault ?? 'closed'),
      evidenceOf(line, batch, provider, null, ''),
    )
    ticket.settle({ kind: 'finding', finding })
  }
  return { ...told, again: [...open].filter((ticket) => !ticket.settled) }
}

/** Our own names; where the sender's domain itself is asked about, a reply that names it is not about us. */
function ownNames(tools: DialogueTools, domain: string): readonly string[] {
  return tools.own.filter((name) => name !== `@${domain}`)
}

function tell(
  tickets: readonly Ticket[],
  replies: readonly Reply[],
  met: readonly Classified[],
): Omit<Told, 'again'> & { readonly lost: readonly Ticket[]; readonly later: readonly Ticket[] } {
  const accepted = met.some((each) => each.mailbox === 'accepted')
  const tooMany = accepted && replies.some(isTooMany)
  const lost = tickets.slice(replies.length)
  return {
    accepted,
    tooMany,
    pressed: met.some((each) => each.party === 'rate') && !tooMany,
    refusedUs: !accepted && met.some((each) => each.party === 'us'),
    refusals: met.filter((each) => each.verdict === 'undeliverable').length,
    lost,
    later: tooMany ? tickets.filter((_ticket, at) => isTooMany(replies[at])) : [],
  }
}

function isTooMany(reply: Reply | undefined): boolean {
  return (reply?.code === 452 || reply?.code === 451) && reply.enhanced === '4.5.3'
}

/**
 * Whether the refusals met here are the same for everybody. `postmaster`, which every domain that
 * takes mail must have (RFC 5321 4.5.1), tells a strict server from one that refuses us.
 */
async function blanketOf(
  line: Line,
  batch: Batch,
  group: string,
  replies: readonly Reply[],
  met: readonly Classified[],
  tools: DialogueTools,
): Promise<boolean> {
  let isAlike = false
  met.forEach((each, at) => {
    const reply = replies[at]
    const ticket = batch.tickets[at]
    if (reply === undefined || ticket === undefined || !isRefusal(each, reply)) return
    const words = `${reply.code} ${reply.enhanced ?? ''} ${reply.text}`
    if (tools.blanket.refused(group, ticket.address, words)) isAlike = true
  })
  if (!isAlike || !line.session.usable) return isAlike
  const control = await line.session.ask({
    sender: tools.sender,
    recipients: [`postmaster@${batch.domain}`],
    begin: true,
    end: true,
    smtputf8: false,
  })
  const code = control.recipients[0]?.code
  if (code !== 250 && code !== 251) return true
  tools.blanket.accepted(group)
  return false
}

/** A lasting refusal that does not say by itself that it is about us. */
function isRefusal(met: Classified, reply: Reply): boolean {
  if (met.verdict === 'undeliverable') return true
  return reply.code >= 500 && met.reason === 'unclassified_reply'
}

async function settleAll(
  line: Line,
  batch: Batch,
  provider: Provider,
  replies: readonly Reply[],
  met: readonly Classified[],
  learnt: Promise<AcceptAllFact | undefined>,
  isBlanket: boolean,
  tools: DialogueTools,
): Promise<void> {
  const acceptAll = await acceptAllFrom(batch, learnt, met, isBlanket, tools)
  const lessons: Lesson[] = []
  replies.forEach((reply, at) => {
    const ticket = batch.tickets[at]
    const said = met[at]
    if (ticket === undefined || said === undefined) return
    if (isTooMany(reply) && met.some((each) => each.mailbox === 'accepted')) return
    const evidence = evidenceOf(line, batch, provider, reply, ticket.local)
    if (isBlanket && isRefusal(said, reply)) {
      ticket.settle({ kind: 'finding', finding: unknownFinding('blanket_reject', evidence) })
      return
    }
    const finding = findingOf(said, acceptAll.value, provider.acceptance, evidence)
    const verdict = verdictOf(said, finding)
    if (verdict.kind === 'finding') {
      const isBoth = finding.mailbox === 'accepted' && acceptAll.value !== 'unknown'
      const { memoryKey: key, account: by } = ticket
      lessons.push({ key, finding: isBoth ? restingOn(finding, acceptAll, by) : finding, by })
    }
    ticket.settle(verdict)
  })
  tools.knowledge.learn({ findings: lessons })
}

/** Nobody else holds these tickets, and whoever waits for them must not wait for ever. */
function giveUp(
  tickets: readonly Ticket[],
  provider: Provider,
  error: unknown,
  tools: DialogueTools,
): void {
  tools.failed(error)
  const finding = unknownFinding('protocol_error', { provider: provider.id })
  for (const ticket of tickets) ticket.settle({ kind: 'finding', finding })
}

function senderRefused(
  line: Line,
  batch: Batch,
  provider: Provider,
  reply: Reply,
  tools: DialogueTools,
): Told {
  const own = ownNames(tools, batch.domain)
  const said = classifyReply({ ...factsOf(reply), phase: 'mail', provider: provider.id, own })
  const evidence = { ...evidenceOf(line, batch, provider, reply, ''), phase: 'mail' }
  const verdict = verdictOf(said, unknownFinding(said.reason, evidence))
  for (const ticket of batch.tickets) ticket.settle(verdict)
  return {
    again: [],
    accepted: false,
    refusedUs: said.party === 'us',
    pressed: said.party === 'rate',
    tooMany: false,
    refusals: 0,
  }
}

function evidenceOf(
  line: Line,
  batch: Batch,
  provider: Provider,
  reply: Reply | null,
  local: string,
): { readonly [key: string]: Json } {
  const evidence: { [key: string]: Json } =
    reply === null
      ? {
          mx_host: line.host,
          mx_address: line.address,
          provider: provider.id,
          phase: 'rcpt',
          tls: line.session.tls,
        }
      : {
          mx_host: line.host,
          mx_address: line.address,
          provider: provider.id,
          phase: 'rcpt',
          tls: line.session.tls,
          reply_code: reply.code,
          enhanced_code: reply.enhanced,
          reply_text: maskedText(reply.text, local),
        }
  if (batch.route.implicit) evidence['implicit_mx'] = true
  return evidence
}
