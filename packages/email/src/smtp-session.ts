import type { Socket } from 'node:net'
import { secure } from '@plumbline/net/egress'
import type { Phase } from './classify.ts'
import type { Reply } from './smtp-reply.ts'
import { createSmtpWire } from './smtp-wire.ts'
import type { Exchanged, SmtpWire, WireFault } from './smtp-wire.ts'

/** Time-outs of each phase, and of a session as a whole, in milliseconds. */
export interface SessionTimes {
  readonly connectMs: number
  readonly greetingMs: number
  readonly commandMs: number
  readonly recipientMs: number
  readonly sessionMs: number
  /** For opening a session with one of the hosts of a domain, however many of them are tried. */
  readonly openingMs: number
}

/**
 * Milliseconds. Some servers delay the greeting by some seconds on purpose (postscreen), and some
 * take 30 s for a recipient. RFC 5321 4.5.3.2 allows minutes, which is too long for a caller.
 */
export const DEFAULT_TIMES: SessionTimes = {
  connectMs: 10_000,
  greetingMs: 30_000,
  commandMs: 20_000,
  recipientMs: 35_000,
  sessionMs: 120_000,
  openingMs: 60_000,
}

/** Settings and dependencies of a session. */
export interface SessionOptions {
  /** Opens the connection; throws if it cannot. */
  readonly dial: () => Promise<Socket>
  readonly host: string
  readonly heloName: string
  readonly times: SessionTimes
  readonly signal: AbortSignal
  /** Called with each reply until the session is open. */
  readonly heard?: () => void
}

/** An open SMTP session, ready for a transaction. */
export interface Session {
  readonly tls: boolean
  readonly smtputf8: boolean
  /** Whether another transaction may begin. */
  readonly usable: boolean
  /**
   * Sends MAIL and RCPT for the recipients of one transaction, in order. Rejects with the error of
   * `mayName`.
   */
  ask(transaction: TransactionRequest): Promise<TransactionReplies>
  /** Ends the open transaction without beginning another. */
  reset(): Promise<void>
  /** Sends QUIT if that is still possible, and closes. */
  close(): void
}

/** Recipients to verify in one mail transaction. */
export interface TransactionRequest {
  readonly sender: string
  readonly recipients: readonly string[]
  /** Whether it begins with MAIL; false to add recipients to the open transaction. */
  readonly begin: boolean
  /** Whether it ends with RSET. */
  readonly end: boolean
  readonly smtputf8: boolean
  /** Called before `count` recipients are sent; if it resolves with false, they are not sent. */
  readonly mayName: (count: number) => Promise<boolean>
}

/** The replies of a transaction. */
export interface TransactionReplies {
  /** The refusal of MAIL; null if it was accepted or not sent. */
  readonly sender: Reply | null
  /**
   * Replies in the order of the recipients; shorter if the session broke, or `mayName` denied some.
   */
  readonly recipients: readonly Reply[]
  /** Whether recipients were not sent, since `mayName` denied them. */
  readonly isDenied: boolean
  /** The reply to RSET; null if it was not sent, or there was none. */
  readonly reset: Reply | null
  readonly fault: WireFault | null
}

/** The open session, or why there is none. */
export type Opened =
  | { readonly kind: 'open'; readonly session: Session }
  | { readonly kind: 'refused'; readonly phase: Phase; readonly reply: Reply }
  | { readonly kind: 'failed'; readonly phase: Phase; readonly fault: WireFault | 'unreachable' }

/**
 * Opens a session: greeting, EHLO (HELO if that is not supported), STARTTLS with any certificate if
 * it is offered, and once more without TLS if the handshake fails.
 */
export async function openSession(options: SessionOptions): Promise<Opened> {
  const first = await openOnce(options, true)
  if (first.kind !== 'failed' || first.phase !== 'starttls' || options.signal.aborted) return first
  return openOnce(options, false)
}

async function openOnce(options: SessionOptions, tryTls: boolean): Promise<Opened> {
  let socket: Socket
  try {
    socket = await options.dial()
  } catch {
    const fault = options.signal.aborted ? 'aborted' : 'unreachable'
    return { kind: 'failed', phase: 'connect', fault }
  }
  const { times, signal } = options
  const wire = createSmtpWire(socket, times.sessionMs, signal)
  const greeting = await wire.exchange('', 1, times.greetingMs)
  const hello = greeting.replies[0]
  if (hello === undefined) return failed(wire, 'greeting', greeting.fault)
  options.heard?.()
  if (hello.code !== 220) return refused(wire, 'greeting', hello)
  const plain = await greet(wire, options)
  if (plain.kind !== 'greeted') return plain
  if (!tryTls || !plain.offers.has('STARTTLS')) return opened(wire, options, plain.offers, false)
  return upgrade(wire, options)
}

async function upgrade(wire: SmtpWire, options: SessionOptions): Promise<Opened> {
  const { times, signal } = options
  const go = await wire.exchange('STARTTLS\r\n', 1, times.commandMs)
  const bare = go.replies[0]?.code === 220 ? wire.release() : null
  if (bare === null) return failed(wire, 'starttls', go.fault ?? 'malformed')
  let encrypted: Socket
  try {
    encrypted = await secure(bare, {
      servername: options.host,
      verify: false,
      timeoutMs: times.commandMs,
      signal,
    })
  } catch {
    bare.destroy()
    return { kind: 'failed', phase: 'starttls', fault: signal.aborted ? 'aborted' : 'malformed' }
  }
  const inner = createSmtpWire(encrypted, times.sessionMs, signal)
  const again = await greet(inner, options)
  // A reply within broken TLS proves nothing about the server, so the session is repeated without
  // TLS.
  if (again.kind !== 'greeted') {
    inner.destroy()
    return { kind: 'failed', phase: 'starttls', fault: 'malformed' }
  }
  return opened(inner, options, again.offers, true)
}

type Greeted = { readonly kind: 'greeted'; readonly offers: ReadonlySet<string> }

/** EHLO, or HELO if the server only supports that (RFC 5321 3.2, 4.1.1.1). */
async function greet(
  wire: SmtpWire,
  options: SessionOptions,
): Promise<Greeted | Exclude<Opened, { kind: 'open' }>> {
  const { commandMs } = options.times
  const extended = await wire.exchange(command('EHLO', options.heloName), 1, commandMs)
  const reply = extended.replies[0]
  if (reply === undefined) return failed(wire, 'ehlo', extended.fault)
  options.heard?.()
  if (reply.code === 250) return { kind: 'greeted', offers: offersOf(reply) }
  if (reply.code !== 500 && reply.code !== 501 && reply.code !== 502 && reply.code !== 504) {
    return refused(wire, 'ehlo', reply)
  }
  const simple = await wire.exchange(command('HELO', options.heloName), 1, commandMs)
  const second = simple.replies[0]
  if (second === undefined) return failed(wire, 'ehlo', simple.fault)
  if (second.code !== 250) return refused(wire, 'ehlo', second)
  return { kind: 'greeted', offers: new Set() }
}

function opened(
  wire: SmtpWire,
  options: SessionOptions,
  offers: ReadonlySet<string>,
  tls: boolean,
): Opened {
  const ask = offers.has('PIPELINING') ? askAtOnce : askInTurn
  const { times } = options
  let stopped = false
  const session: Session = {
    tls,
    smtputf8: offers.has('SMTPUTF8'),
    get usable() {
      return wire.fault === null && !stopped
    },
    async ask(transaction) {
      const asked = await ask(wire, transaction, times)
      const last = asked.recipients.at(-1) ?? asked.sender
      if (last?.code === 421) stopped = true
      // The server may still count the transaction as open.
      if (asked.reset !== null && asked.reset.code !== 250) stopped = true
      return asked
    },
    async reset() {
      const done = await endTransaction(wire, times)
      if (done.replies[0]?.code !== 250) stopped = true
    },
    close() {
      stopped = true
      wire.send('QUIT\r\n')
      wire.destroy()
    },
  }
  return { kind: 'open', session }
}

/** Pipelining (RFC 2920): MAIL, every RCPT and RSET in one write; replies come in order. */
async function askAtOnce(
  wire: SmtpWire,
  asked: TransactionRequest,
  times: SessionTimes,
): Promise<TransactionReplies> {
  if (!(await asked.mayName(asked.recipients.length))) {
    const reset = !asked.begin && asked.end ? await endTransaction(wire, times) : null
    return { ...NO_REPLIES, isDenied: true, ...endedBy(reset) }
  }
  const parts = asked.begin ? [mailCommand(asked)] : []
  for (const recipient of asked.recipients) parts.push(recipientCommand(recipient))
  if (asked.end) parts.push('RSET\r\n')
  const { replies, fault } = await wire.exchange(parts.join(''), parts.length, times.recipientMs)
  const from = asked.begin ? 1 : 0
  const sender = asked.begin ? (replies[0] ?? null) : null
  const isRefused = sender !== null && sender.code !== 250
  return {
    sender: isRefused ? sender : null,
    recipients: isRefused ? [] : replies.slice(from, from + asked.recipients.length),
    isDenied: false,
    reset: asked.end ? (replies[parts.length - 1] ?? null) : null,
    fault,
  }
}

async function askInTurn(
  wire: SmtpWire,
  asked: TransactionRequest,
  times: SessionTimes,
): Promise<TransactionReplies> {
  if (asked.begin) {
    const mail = await wire.exchange(mailCommand(asked), 1, times.commandMs)
    const reply = mail.replies[0]
    if (reply === undefined) return { ...NO_REPLIES, fault: mail.fault }
    if (reply.code !== 250) {
      // A server that refused MAIL may still count the transaction as open.
      const reset = asked.end ? await endTransaction(wire, times) : null
      return { ...NO_REPLIES, sender: reply, ...endedBy(reset) }
    }
  }
  const replies: Reply[] = []
  const transaction = { ...NO_REPLIES, recipients: replies }
  let isDenied = false
  for (const recipient of asked.recipients) {
    isDenied = !(await asked.mayName(1))
    if (isDenied) break
    const received = await wire.exchange(recipientCommand(recipient), 1, times.recipientMs)
    const reply = received.replies[0]
    if (reply === undefined) return { ...transaction, fault: received.fault }
    replies.push(reply)
    if (reply.code === 421) return { ...transaction, fault: 'closed' }
  }
  const reset = asked.end ? await endTransaction(wire, times) : null
  return { ...transaction, isDenied, ...endedBy(reset) }
}

const NO_REPLIES: TransactionReplies = {
  sender: null,
  recipients: [],
  isDenied: false,
  reset: null,
  fault: null,
}

function endTransaction(wire: SmtpWire, times: SessionTimes): Promise<Exchanged> {
  return wire.exchange('RSET\r\n', 1, times.commandMs)
}

function endedBy(reset: Exchanged | null): Pick<TransactionReplies, 'reset' | 'fault'> {
  return { reset: reset?.replies[0] ?? null, fault: reset?.fault ?? null }
}

function mailCommand(asked: TransactionRequest): string {
  return command('MAIL', `FROM:<${asked.sender}>${asked.smtputf8 ? ' SMTPUTF8' : ''}`)
}

function recipientCommand(recipient: string): string {
  return command('RCPT', `TO:<${recipient}>`)
}

/**
 * One command line.
 *
 * @throws on a control character in an argument, which would begin another command: a bug of the
 * caller, since the mailbox grammar allows none
 */
export function command(verb: string, argument: string): string {
  for (let at = 0; at < argument.length; at++) {
    const code = argument.charCodeAt(at)
    if (code < 0x20 || code === 0x7f)
      throw new Error(`control character in the argument of ${verb}`)
  }
  return `${verb} ${argument}\r\n`
}

function offersOf(reply: Reply): ReadonlySet<string> {
  const offers = new Set<string>()
  for (const line of reply.lines.slice(1)) {
    const end = line.search(/[ =]/)
    offers.add((end < 0 ? line : line.slice(0, end)).toUpperCase())
  }
  return offers
}

function failed(
  wire: SmtpWire,
  phase: Phase,
  fault: WireFault | null,
): Opened & { kind: 'failed' } {
  const why = fault ?? wire.fault ?? 'closed'
  wire.destroy()
  return { kind: 'failed', phase, fault: why }
}

function refused(wire: SmtpWire, phase: Phase, reply: Reply): Opened & { kind: 'refused' } {
  wire.send('QUIT\r\n')
  wire.destroy()
  return { kind: 'refused', phase, reply }
}
