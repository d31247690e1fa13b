import type { Duplex } from 'node:stream'
import { countViolation } from '../counters.ts'
import { createSessionState, replyTo } from './session-state.ts'
import type { SessionState } from './session-state.ts'
import type { ServedHost } from './served.ts'

/** A client's connection to a host. */
export interface Session {
  readonly host: ServedHost
  readonly clientAddress: string
  /** Starts TLS on the connection and passes on the decrypted one; undefined afterwards. */
  readonly startTls?: (secured: (wire: Duplex) => void) => void
}

/** Longest accepted command. RFC 5321 4.5.3.1.4 requires 512; extensions allow more. */
const LINE_CHARACTERS = 4096

/** Serves an SMTP session, from after the banner until either side closes the connection. */
export function serveSession(wire: Duplex, session: Session): void {
  const { host } = session
  const state = createSessionState(host, session.clientAddress, session.startTls === undefined)
  const slow =
    host.profile.replyDelayMs === undefined
      ? undefined
      : createDelayedReplies(wire, state, host.profile.replyDelayMs)
  let pending = ''
  const secureWire = (rest: string): void => {
    if (rest !== '') countViolation(host.counters.all, 'commands sent together with STARTTLS')
    wire.removeListener('data', onData)
    wire.write(host.texts.tlsReady, 'latin1')
    session.startTls?.((secured) =>
      serveSession(secured, { host, clientAddress: session.clientAddress }),
    )
  }
  const onData = (chunk: Buffer): void => {
    if (state.over) return
    const text = pending + chunk.toString('latin1')
    let at = 0
    let out = ''
    let lines = 0
    for (let end = text.indexOf('\n'); end >= 0 && !state.over; end = text.indexOf('\n', at)) {
      const line = lineOf(text, at, end, host)
      at = end + 1
      if (lines++ === 1 && !host.offersPipelining)
        countViolation(host.counters.all, 'pipelining where it is not offered')
      if (slow !== undefined) {
        slow(line, secureWire)
        continue
      }
      const reply = replyTo(state, line)
      if (reply === undefined) {
        if (out !== '') wire.write(out, 'latin1')
        secureWire(text.slice(at))
        return
      }
      out += reply
    }
    pending = text.slice(at)
    if (out !== '') wire.write(out, 'latin1')
    if (state.over || pending.length > LINE_CHARACTERS) wire.end()
  }
  wire.on('data', onData)
  wire.on('end', () => wire.end())
}

function lineOf(text: string, at: number, end: number, host: ServedHost): string {
  if (end > at && text.charCodeAt(end - 1) === 13) return text.slice(at, end - 1)
  countViolation(host.counters.all, 'a line that ends in a bare LF')
  return text.slice(at, end)
}

/** Answers one line at a time, each after the delay of its host. */
function createDelayedReplies(
  wire: Duplex,
  state: SessionState,
  delayMs: number,
): (line: string, secureWire: (rest: string) => void) => void {
  const queue: string[] = []
  let busy = false
  const next = (secureWire: (rest: string) => void): void => {
    const line = queue.shift()
    busy = line !== undefined
    if (line === undefined) return
    setTimeout(() => {
      if (wire.destroyed || state.over) return
      const reply = replyTo(state, line)
      if (reply === undefined) {
        secureWire('')
        return
      }
      wire.write(reply, 'latin1')
      if (state.over) wire.end()
      else next(secureWire)
    }, delayMs)
  }
  return (line, secureWire) => {
    queue.push(line)
    if (!busy) next(secureWire)
  }
}
