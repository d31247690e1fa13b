import { noteRecipient, violation } from '../counters.ts'
import { recipientResult } from './mailboxes.ts'
import type { ServedHost } from './served.ts'

/** The state of an SMTP session. */
export interface Dialogue {
  readonly host: ServedHost
  readonly clientAddress: string
  readonly secure: boolean
  helo: string
  sender: string | undefined
  utf8: boolean
  rcptInTransaction: number
  rcptInSession: number
  errors: number
  /** The connection ends after the reply. */
  over: boolean
}

/** A dialogue before its first command. */
export function createDialogue(host: ServedHost, clientAddress: string, secure: boolean): Dialogue {
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
export function replyTo(dialogue: Dialogue, line: string): string | undefined {
  const reply = dispatch(dialogue, line)
  const most = dialogue.host.profile.limits?.maxErrors
  if (most === undefined || reply?.charCodeAt(0) !== 0x35) return reply
  if (++dialogue.errors < most) return reply
  dialogue.over = true
  return reply + dialogue.host.texts.tooManyErrors
}

function dispatch(dialogue: Dialogue, line: string): string | undefined {
  const { host } = dialogue
  const { texts } = host
  const verb = line.slice(0, 4).toUpperCase()
  switch (verb) {
    case 'RCPT':
      return rcpt(dialogue, line)
    case 'MAIL':
      return mail(dialogue, line)
    case 'RSET':
      reset(dialogue)
      return texts.reset
    case 'EHLO':
    case 'HELO':
      return hello(dialogue, line, verb)
    case 'QUIT':
      dialogue.over = true
      return texts.bye
    case 'NOOP':
      return texts.reset
    case 'VRFY':
      return texts.vrfy
    case 'STAR':
      if (!host.offersTls || dialogue.secure) return texts.unknown
      return host.profile.brokenTls === 'refused' ? texts.tlsRefused : undefined
    case 'DATA':
    case 'BDAT':
      host.counters.host.dataCommands++
      return texts.noMessages
    default:
      violation(host.counters.all, 'an unknown command')
      return texts.unknown
  }
}

function hello(dialogue: Dialogue, line: string, verb: string): string {
  const { profile, texts, counters, name } = dialogue.host
  const helo = line.slice(5).trim()
  if (helo === '') return texts.syntax
  if (helo.toLowerCase() === name) violation(counters.all, 'HELO with the name of the server')
  if (profile.refusal?.phase === 'ehlo') return texts.refusal
  reset(dialogue)
  if (verb === 'EHLO' && profile.heloOnly === true) return texts.unknown
  dialogue.helo = helo
  if (verb === 'HELO') return texts.helo
  return dialogue.secure ? texts.ehloSecure : texts.ehlo
}

function mail(dialogue: Dialogue, line: string): string {
  const { profile, texts, counters, offersUtf8 } = dialogue.host
  if (dialogue.sender !== undefined) return texts.nested
  if (dialogue.helo === '') return texts.heloFirst
  const open = line.indexOf('<')
  const close = line.indexOf('>', open)
  if (open < 0 || close < 0) return texts.syntax
  if (profile.requiresTls !== undefined && !dialogue.secure) return texts.requiresTls
  if (profile.refusal?.phase === 'mail') return texts.refusal
  const utf8 = line.length > close + 1 && /\bSMTPUTF8\b/i.test(line.slice(close))
  if (utf8 && !offersUtf8) {
    violation(counters.all, 'SMTPUTF8 where it is not offered')
    return texts.badParameter
  }
  dialogue.sender = line.slice(open + 1, close)
  dialogue.utf8 = utf8
  return texts.mail
}

function rcpt(dialogue: Dialogue, line: string): string {
  const { host, sender } = dialogue
  const { profile, texts, counters } = host
  if (sender === undefined) return texts.mailFirst
  const address = recipient(line)
  if (address === undefined || address.indexOf('@') < 1) return texts.syntax
  if (/[^\x20-\x7e]/.test(address) && !dialogue.utf8) {
    violation(counters.all, 'a non-ASCII recipient without SMTPUTF8')
    return texts.needsUtf8
  }
  noteRecipient(counters.all, counters.host, address)
  const held = host.limited(dialogue.rcptInTransaction, dialogue.rcptInSession++)
  if (held !== undefined) {
    dialogue.over = held === 'tooManyInSession'
    return texts[held]
  }
  if (profile.refusal?.phase === 'rcpt') return texts.refusal
  if (profile.oneRecipient === true && dialogue.rcptInTransaction > 0) return texts.oneRecipient
  const result = recipientResult(host.world, host, profile, address)
  if (result === 'relay') return texts.relay(address)
  if (
    profile.greylistSeconds !== undefined &&
    host.greylisted(dialogue.clientAddress, sender, address)
  ) {
    return texts.greylist(address)
  }
  if (profile.rejectsAll !== undefined) return texts.rejectsAll
  if (result === 'accepted') dialogue.rcptInTransaction++
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

function reset(dialogue: Dialogue): void {
  dialogue.sender = undefined
  dialogue.rcptInTransaction = 0
}
