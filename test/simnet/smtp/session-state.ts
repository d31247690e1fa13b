import { countRecipient, countViolation } from '../counters.ts'
import { recipientResult } from './mailboxes.ts'
import type { ServedHost } from './served.ts'

/** The state of an SMTP session. */
export interface SessionState {
  readonly host: ServedHost
  readonly clientAddress: string
  readonly secure: boolean
  helo: string
  sender: string | undefined
  utf8: boolean
  rcptInTransaction: number
  rcptInSession: number
  errors: number
  /** Whether the connection ends after the next reply. */
  over: boolean
}

/** The state before the first command. */
export function createSessionState(
  host: ServedHost,
  clientAddress: string,
  secure: boolean,
): SessionState {
  return {
    host,
    clientAddress,
    secure,
    helo: '',
    sender: undefined,
    utf8: false,
    rcptInTransaction: 0,
    rcptInSession: 0,
    errors: 0,
    over: false,
  }
}

/** The reply to one line, with its CRLF; undefined if STARTTLS takes over the connection. */
export function replyTo(state: SessionState, line: string): string | undefined {
  const reply = dispatch(state, line)
  const most = state.host.profile.limits?.maxErrors
  if (most === undefined || reply?.charCodeAt(0) !== 0x35) return reply
  if (++state.errors < most) return reply
  state.over = true
  return reply + state.host.texts.tooManyErrors
}

function dispatch(state: SessionState, line: string): string | undefined {
  const { host } = state
  const { texts } = host
  const verb = line.slice(0, 4).toUpperCase()
  switch (verb) {
    case 'RCPT':
      return rcpt(state, line)
    case 'MAIL':
      return mail(state, line)
    case 'RSET':
      reset(state)
      return texts.reset
    case 'EHLO':
    case 'HELO':
      return hello(state, line, verb)
    case 'QUIT':
      state.over = true
      return texts.bye
    case 'NOOP':
      return texts.reset
    case 'VRFY':
      return texts.vrfy
    case 'STAR':
      if (!host.offersTls || state.secure) return texts.unknown
      return host.profile.brokenTls === 'refused' ? texts.tlsRefused : undefined
    case 'DATA':
    case 'BDAT':
      host.counters.host.dataCommands++
      return texts.noMessages
    default:
      countViolation(host.counters.all, 'an unknown command')
      return texts.unknown
  }
}

function hello(state: SessionState, line: string, verb: string): string {
  const { profile, texts, counters, name } = state.host
  const helo = line.slice(5).trim()
  if (helo === '') return texts.syntax
  if (helo.toLowerCase() === name) countViolation(counters.all, 'HELO with the name of the server')
  if (profile.refusal?.phase === 'ehlo') return texts.refusal
  reset(state)
  if (verb === 'EHLO' && profile.heloOnly === true) return texts.unknown
  state.helo = helo
  if (verb === 'HELO') return texts.helo
  return state.secure ? texts.ehloSecure : texts.ehlo
}

function mail(state: SessionState, line: string): string {
  const { profile, texts, counters, offersUtf8 } = state.host
  if (state.sender !== undefined) return texts.nested
  if (state.helo === '') return texts.heloFirst
  const open = line.indexOf('<')
  const close = line.indexOf('>', open)
  if (open < 0 || close < 0) return texts.syntax
  if (profile.requiresTls !== undefined && !state.secure) return texts.requiresTls
  if (profile.refusal?.phase === 'mail') return texts.refusal
  const utf8 = line.length > close + 1 && /\bSMTPUTF8\b/i.test(line.slice(close))
  if (utf8 && !offersUtf8) {
    countViolation(counters.all, 'SMTPUTF8 where it is not offered')
    return texts.badParameter
  }
  state.sender = line.slice(open + 1, close)
  state.utf8 = utf8
  return texts.mail
}

function rcpt(state: SessionState, line: string): string {
  const { host, sender } = state
  const { profile, texts, counters } = host
  if (sender === undefined) return texts.mailFirst
  const address = recipient(line)
  if (address === undefined || address.indexOf('@') < 1) return texts.syntax
  if (/[^\x20-\x7e]/.test(address) && !state.utf8) {
    countViolation(counters.all, 'a non-ASCII recipient without SMTPUTF8')
    return texts.needsUtf8
  }
  countRecipient(counters.all, counters.host, address)
  const held = host.limited(state.rcptInTransaction, state.rcptInSession++)
  if (held !== undefined) {
    state.over = held === 'tooManyInSession'
    return texts[held]
  }
  if (profile.refusal?.phase === 'rcpt') return texts.refusal
  if (profile.oneRecipient === true && state.rcptInTransaction > 0) return texts.oneRecipient
  const result = recipientResult(host.world, host, profile, address)
  if (result === 'relay') return texts.relay(address)
  if (
    profile.greylistSeconds !== undefined &&
    host.greylisted(state.clientAddress, sender, address)
  ) {
    return texts.greylist(address)
  }
  if (profile.rejectsAll !== undefined) return texts.rejectsAll
  if (result === 'accepted') state.rcptInTransaction++
  return texts[result](address)
}

/** The text between the angle brackets; undefined if there are none. */
function recipient(line: string): string | undefined {
  const open = line.indexOf('<')
  const close = line.lastIndexOf('>')
  if (open < 0 || close <= open + 1) return undefined
  const address = line.slice(open + 1, close)
  return /[\x80-\xff]/.test(address) ? Buffer.from(address, 'latin1').toString('utf8') : address
}

function reset(state: SessionState): void {
  state.sender = undefined
  state.rcptInTransaction = 0
}
