import type { Json } from '@plumbline/contract/outcome'
import { acceptAllFrom, needsAcceptAllProbe, probeAcceptAll } from './accept-all.ts'
import type { AcceptAllTools } from './accept-all.ts'
import type { RecipientTokens } from './recipient-tokens.ts'
import { classifyReply, factsOf, isAcceptance, isVague } from './classify.ts'
import type { Classified, Phase } from './classify.ts'
import { faultReason } from './connect.ts'
import type { SmtpConnection } from './connect.ts'
import { otherHosts } from './mx.ts'
import type { NewResult } from './probe-cache.ts'
import type { Probe, Recipients } from './probe-queue.ts'
import { resultOfReply, unknownResult } from './probe-result.ts'
import { withOlderFact, withWait } from './probe-result.ts'
import type { AcceptAllFact } from './probe-result.ts'
import type { Provider } from './providers.ts'
import type { Reply } from './smtp-reply.ts'
import { maskedText, type NamedRecipient } from './reply-masks.ts'
import type { TransactionReplies } from './smtp-session.ts'
import type { UniformRejection } from './uniform-rejection.ts'

/** Dependencies of verifying recipients, besides a session. */
export interface VerifyTools extends AcceptAllTools {
  readonly uniform: UniformRejection
  /**
   * Our own names, and the sender's domain after an at sign: a refusal that contains one is about
   * us.
   */
  readonly own: readonly string[]
  /** Called with each reply that no rule matches, for the operator's log. */
  readonly unclassified: (provider: string, reply: Reply) => void
  /** Called with each error that occurs while results are settled in the background. */
  readonly failed: (error: unknown) => void
}

/** Summary of a transaction, besides the results of its probes. */
export interface TransactionSummary {
  /** Probes without a reply, to be sent in another transaction. */
  readonly unanswered: readonly Probe[]
  readonly accepted: boolean
  /**
   * Whether we were refused and no recipient was accepted; `maybe` if the reason may also be the
   * recipients' domain.
   */
  readonly refusedUs: boolean | 'maybe'
  /** Whether the server asked us to slow down. */
  readonly throttled: boolean
  /** Whether it takes fewer recipients per transaction than were sent. */
  readonly tooMany: boolean
  readonly refusals: number
}

const NOTHING_SHOWN: TransactionSummary = {
  unanswered: [],
  accepted: false,
  refusedUs: false,
  throttled: false,
  tooMany: false,
  refusals: 0,
}

/** One transaction: its recipients and tools. */
interface Transaction {
  readonly connection: SmtpConnection
  readonly recipients: Recipients
  readonly tokens: RecipientTokens
  readonly provider: Provider
  readonly group: string
  readonly tools: VerifyTools
  /** Our own names, without the sender's domain if recipients of that domain are probed. */
  readonly own: readonly string[]
}

/** A recipient's reply and its meaning. */
interface Answered {
  readonly probe: Probe
  readonly reply: Reply
  readonly meaning: Classified
}

/** Sessions that may break before a probe gets its reply; then it ends as unknown. */
const ATTEMPTS_MAX = 2

/**
 * Verifies the recipients in one mail transaction and settles their probes.
 * @param tokens granted for the recipients by the shared rate limit
 */
export async function verifyRecipients(
  connection: SmtpConnection,
  recipients: Recipients,
  tokens: RecipientTokens,
  provider: Provider,
  group: string,
  tools: VerifyTools,
): Promise<TransactionSummary> {
  const { session } = connection
  const { domain, probes } = recipients
  const own = tools.own.filter((name) => name !== `@${domain}`)
  const about: Transaction = { connection, recipients, tokens, provider, group, tools, own }
  const utf8 = probes[0]?.utf8 === true
  if (utf8 && !session.smtputf8) {
    const result = unknownResult('smtputf8_unsupported', evidenceOf(about, null, ''))
    for (const probe of probes) probe.settle(result)
    return NOTHING_SHOWN
  }
  const wantsProbe = await needsAcceptAllProbe(recipients, provider, tools)
  const apart = provider.recipientsPerTransaction === 1
  /** Whether the transaction is left open for the random name. */
  const staysOpen = wantsProbe && !apart
  const asked = await session.ask({
    sender: tools.sender,
    recipients: probes.map((probe) => probe.address),
    begin: true,
    end: !staysOpen,
    smtputf8: utf8,
    mayName: tokens.use,
  })
  if (asked.sender !== null) {
    // A server that refused MAIL may still count the transaction as open.
    if (staysOpen && session.usable) await session.reset()
    return senderRefused(about, asked.sender)
  }
  const answered = answersOf(about, asked.recipients)
  const accepted = answered.some(({ meaning }) => meaning.mailbox === 'accepted')
  if (accepted) tools.uniform.accepted(group)
  const probesAcceptAll =
    wantsProbe &&
    accepted &&
    session.usable &&
    // Another session with the domain may have begun or ended the same probe meanwhile.
    (await needsAcceptAllProbe(recipients, provider, tools))
  const acceptAll = probesAcceptAll
    ? probeAcceptAll(connection, recipients, provider, tools, apart, tokens)
    : (tools.acceptAllProbes.get(domain) ?? tools.cache.acceptAll(domain))
  if (staysOpen && !probesAcceptAll && session.usable) await session.reset()
  if (probesAcceptAll) await acceptAll
  const isUniform = await isUniformRejection(about, answered)
  const tooMany = accepted && answered.some(isTooMany)
  const final = tooMany ? answered.filter((each) => !isTooMany(each)) : answered
  const lost = probes.slice(asked.recipients.length)
  const later = tooMany ? answered.filter(isTooMany).map(({ probe }) => probe) : []
  // The session goes on while another one finds out whether the domain accepts all names.
  settleAll(about, answered, final, acceptAll, isUniform).catch((error: unknown) => {
    tools.failed(error)
    // Nothing else would settle these probes, and their callers would wait for ever.
    const result = unknownResult('protocol_error', { provider: provider.id })
    for (const { probe } of final) probe.settle(result)
  })
  if (!asked.isDenied) countAttempt(about, brokenBy(lost, answered, asked), asked.fault)
  return {
    unanswered: [...later, ...lost].filter((probe) => !probe.settled),
    accepted,
    refusedUs: !accepted && refusedUs(answered),
    throttled: !tooMany && answered.some(({ meaning }) => meaning.party === 'rate'),
    tooMany,
    refusals: answered.filter(({ meaning }) => meaning.status === 'undeliverable').length,
  }
}

function answersOf(about: Transaction, replies: readonly Reply[]): readonly Answered[] {
  const { provider, recipients, tools } = about
  const answered = replies.flatMap((reply, at) => {
    const probe = recipients.probes[at]
    if (probe === undefined) return []
    return [{ probe, reply, meaning: classified(about, reply, 'rcpt', probe) }]
  })
  for (const { meaning, reply } of answered) {
    if (meaning.reason === 'unclassified_reply') tools.unclassified(provider.id, reply)
  }
  return answered
}

function refusedUs(answered: readonly Answered[]): TransactionSummary['refusedUs'] {
  const refusals = answered.filter(({ meaning }) => meaning.party === 'us')
  if (refusals.length === 0) return false
  return refusals.every(({ meaning }) => isVague(meaning)) ? 'maybe' : true
}

/**
 * The probes without a reply that may be why the session broke: some servers close it after a few
 * unknown names, and then reply to others in the next.
 */
function brokenBy(
  lost: readonly Probe[],
  answered: readonly Answered[],
  { fault }: TransactionReplies,
): readonly Probe[] {
  const hasReplies = answered.some(({ reply }) => reply.code !== 421)
  const isSlowed = answered.some(({ meaning }) => meaning.party === 'rate')
  return fault === 'closed' && hasReplies && !isSlowed ? lost.slice(0, 1) : lost
}

/** Settles the probes that have been sent too often without a reply. */
function countAttempt(
  about: Transaction,
  lost: readonly Probe[],
  fault: TransactionReplies['fault'],
): void {
  for (const probe of lost) {
    if (++probe.attempts < ATTEMPTS_MAX) continue
    const reason = faultReason(fault ?? 'closed')
    probe.settle(unknownResult(reason, evidenceOf(about, null, '')))
  }
}

function classified(
  { provider, own }: Transaction,
  reply: Reply,
  phase: Phase,
  recipient?: NamedRecipient,
): Classified {
  const of = recipient === undefined ? {} : { recipient }
  return classifyReply({ ...factsOf(reply), phase, provider: provider.id, own, ...of })
}

/** Enhanced code X.5.3, too many recipients (RFC 3463 3.6). */
function isTooMany({ reply }: Answered): boolean {
  return (reply.code === 452 || reply.code === 451) && reply.enhanced === '4.5.3'
}

/**
 * Whether the server refuses everybody alike. It is asked for `postmaster`, which every domain that
 * accepts mail must have (RFC 5321 4.5.1): a strict server accepts it, one that refuses us does
 * not.
 */
async function isUniformRejection(
  { connection, recipients, tokens, group, tools }: Transaction,
  answered: readonly Answered[],
): Promise<boolean> {
  let isAlike = false
  for (const { probe, reply, meaning } of answered) {
    if (!isRefusal(meaning, reply)) continue
    const words = `${reply.code} ${reply.enhanced ?? ''} ${reply.text}`
    if (tools.uniform.refused(group, probe.address, words)) isAlike = true
  }
  if (!isAlike || !connection.session.usable) return isAlike
  const control = await connection.session.ask({
    sender: tools.sender,
    recipients: [`postmaster@${recipients.domain}`],
    begin: true,
    end: true,
    smtputf8: false,
    mayName: tokens.use,
  })
  if (!isAcceptance(control.recipients[0]?.code ?? null)) return true
  tools.uniform.accepted(group)
  return false
}

/** A permanent refusal that is not explicitly about us. */
function isRefusal(meaning: Classified, reply: Reply): boolean {
  if (meaning.status === 'undeliverable') return true
  return reply.code >= 500 && meaning.reason === 'unclassified_reply'
}

/**
 * Settles the probes of `final`, and caches the results worth it; `answered` are all that had a
 * reply.
 */
async function settleAll(
  about: Transaction,
  answered: readonly Answered[],
  final: readonly Answered[],
  known: Promise<AcceptAllFact | undefined>,
  isUniform: boolean,
): Promise<void> {
  const { connection, recipients, provider, tools } = about
  const others = otherHosts(connection.host, recipients.route)
  const hosts = others.length === 0 ? {} : { otherHosts: others }
  const meanings = answered.map((each) => each.meaning)
  const acceptAll = await acceptAllFrom(recipients, known, meanings, isUniform, tools)
  const results: NewResult[] = []
  for (const each of final) {
    const { probe, reply } = each
    const evidence = evidenceOf(about, reply, probe.local)
    if (isUniform && isRefusal(each.meaning, reply)) {
      probe.settle(unknownResult('blanket_reject', evidence))
      continue
    }
    const plain = resultOfReply(each.meaning, acceptAll.value, provider.acceptance, evidence)
    const result = withWait(each.meaning, { ...plain, ...hosts })
    if (result.wait === undefined) {
      const isBoth = result.mailbox === 'accepted' && acceptAll.value !== 'unknown'
      const { memoryKey: key, account: by } = probe
      results.push({ key, result: isBoth ? withOlderFact(result, acceptAll, by) : result, by })
    }
    probe.settle(result)
  }
  tools.cache.remember({ results })
}

/** After a refusal of MAIL no recipient was sent, and all of them end with that reply. */
function senderRefused(about: Transaction, reply: Reply): TransactionSummary {
  const meaning = classified(about, reply, 'mail')
  const evidence = { ...evidenceOf(about, reply, ''), phase: 'mail' }
  const result = withWait(meaning, unknownResult(meaning.reason, evidence))
  for (const probe of about.recipients.probes) probe.settle(result)
  return {
    ...NOTHING_SHOWN,
    refusedUs: meaning.party === 'us',
    throttled: meaning.party === 'rate',
  }
}

function evidenceOf(
  { connection, recipients, provider }: Transaction,
  reply: Reply | null,
  local: string,
): { readonly [key: string]: Json } {
  const evidence: { [key: string]: Json } = {
    mx_host: connection.host,
    mx_address: connection.address,
    provider: provider.id,
    phase: 'rcpt',
    tls: connection.session.tls,
  }
  if (reply !== null) {
    evidence['reply_code'] = reply.code
    evidence['enhanced_code'] = reply.enhanced
    evidence['reply_text'] = maskedText(reply.text, local)
  }
  if (recipients.route.implicit) evidence['implicit_mx'] = true
  return evidence
}
