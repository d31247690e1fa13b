import type { Duplex } from 'node:stream'
import { violation } from '../counters.ts'
import { createDialogue, replyTo } from './dialogue.ts'
import type { Dialogue } from './dialogue.ts'
import type { ServedHost } from './served.ts'

/** One connection of a client. */
export interface Session {
  readonly host: ServedHost
  readonly clientAddress: string
  /** Starts TLS on the connection and passes on the decrypted one; undefined afterwards. */
  readonly startTls?: (secured: (wire: Duplex) => void) => void
}

/** No command may be longer (RFC 5321 4.5.3.1.4 says 512; extensions add). */
const LINE_CHARACTERS = 4096

/** Speaks SMTP on a wire, after the banner, until either side leaves. */
export function speak(wire: Duplex, session: Session): void {
  const { host } = session
  const dialogue = createDialogue(host, session.clientAddress, session.startTls === undefined)
  const slow =
    host.profile.replyDelayMs === undefined
      ? undefined
      : createDelayedReplies(wire, dialogue, host.profile.replyDelayMs)
  let pending = ''
  const secureWire = (rest: string): void => {
    if (rest !== '') violation(host.counters.all, 'commands sent together with STARTTLS')
    wire.removeListener('data', onData)
    wire.write(host.texts.tlsReady, 'latin1')
    session.startTls?.((secured) => speak(secured, { host, clientAddress: session.clientAddress }))
  }
  const onData = (chunk: Buffer): void => {
    if (dialogue.over) return
    const text = pending + chunk.toString('latin1')
    let at = 0
    let out = ''
    let lines = 0
    for (let end = text.indexOf('\n'); end >= 0 && !dialogue.over; end = text.indexOf('\n', at)) {
      const line = lineOf(text, at, end, host)
      at = end + 1
      if (lines++ === 1 && !host.offersPipelining)
        violation(host.counters.all, 'pipelining where it is not offered')
      if (slow !== undefined) {
        slow(line, secureWire)
        continue
      }
      const reply = replyTo(dialogue, line)
      if (reply === undefined) {
        if (out !== '') wire.write(out, 'latin1')
        secureWire(text.slice(at))
        return
      }
      out += reply
    }
    pending = text.slice(at)
    if (out !== '') wire.write(out, 'latin1')
    if (dialogue.over || pending.length > LINE_CHARACTERS) wire.end()
  }
  wire.on('data', onData)
  wire.on('end', () => wire.end())
}

function lineOf(text: string, at: number, end: number, host: ServedHost): string {
  if (end > at && text.charCodeAt(end - 1) === 13) return text.slice(at, end - 1)
  violation(host.counters.all, 'a line that ends in a bare LF')
  return text.slice(at, end)
}

/** Answers one line at a time, each after the delay of its host. */
function createDelayedReplies(
  wire: Duplex,
  dialogue: Dialogue,
  delayMs: number,
): (line: string, secureWire: (rest: string) => void) => void {
  const queue: string[] = []
  let busy = false
  const next = (secureWire: (rest: string) => void): void => {
    const line = queue.shift()
    busy = line !== undefined
    if (line === undefined) return
    setTimeout(() => {
      if (wire.destroyed || dialogue.over) return
      const reply = replyTo(dialogue, line)
      if (reply === undefined) {
        secureWire('')
        return
      }
      wire.write(reply, 'latin1')
      if (dialogue.over) wire.end()
      else next(secureWire)
    }, delayMs)
  }
  return (line, secureWire) => {
    queue.push(line)
    if (!busy) next(secureWire)
  }
}
