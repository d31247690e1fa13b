import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Lease, Limiter } from '@plumbline/ports/limiter'
import type { Memory } from '@plumbline/ports/memory'
import type { Json } from '@plumbline/contract/outcome'
import type { NameList } from '@plumbline/datasets/name-list'
import type { Resolver } from '@plumbline/net/resolver'
import type { DnsAnswer } from '@plumbline/net/dns-answer'

/** Replies of a scripted server; null sends nothing. */
export interface SmtpScript {
  /**
   * The greeting, or a function of the connection; null to stay silent. Default `220 mx.test
   * ESMTP`.
   */
  readonly greeting?: string | null | ((socket: Socket) => string)
  /** Lines after `250-mx.test` in reply to EHLO. Default `PIPELINING`. */
  readonly offers?: readonly string[]
  /** Reply to a recipient (lower case). Default `250 2.1.5 ok`. */
  readonly recipient?: (address: string, session: SmtpSession) => string | null
  /** Reply to any command; undefined for the default reply. */
  readonly command?: (line: string, session: SmtpSession) => string | null | undefined
  /** Handles the socket in place of the script. */
  readonly raw?: (socket: Socket) => void
}

export interface SmtpSession {
  readonly socket: Socket
  /** Recipients named so far in this transaction. */
  recipients: number
  readonly remote: string
}

/** A mail server on loopback that follows a script and records what it receives. */
export interface SmtpFixture extends AsyncDisposable {
  readonly port: number
  readonly lines: string[]
  readonly sessions: { readonly open: number; readonly most: number; readonly all: number }
}

/** Starts a scripted server. */
export async function startSmtp(
  script: SmtpScript,
  address = '127.0.0.1',
  port = 0,
): Promise<SmtpFixture> {
  const lines: string[] = []
  const counts = { open: 0, most: 0, all: 0 }
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    counts.all++
    counts.most = Math.max(counts.most, ++counts.open)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      sockets.delete(socket)
      counts.open--
    })
    if (script.raw !== undefined) {
      socket.resume()
      script.raw(socket)
      return
    }
    serve(socket, script, lines)
  })
  await listening(server, port, address)
  const bound = server.address() as AddressInfo
  return {
    port: bound.port,
    lines,
    sessions: counts,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Attempts to use a given port, which another test may have on this address, and pause between two. */
const PORT_TRIES = 300
const PORT_PAUSE_MS = 100

async function listening(server: Server, port: number, address: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await once(server.listen(port, address), 'listening')
      return
    } catch (error) {
      if (port === 0 || tries === PORT_TRIES) throw error
      await wait(PORT_PAUSE_MS)
    }
  }
}

function serve(socket: Socket, script: SmtpScript, lines: string[]): void {
  const session: SmtpSession = { socket, recipients: 0, remote: socket.remoteAddress ?? '' }
  const { greeting: words = '220 mx.test ESMTP' } = script
  const greeting = typeof words === 'function' ? words(socket) : words
  if (greeting !== null) socket.write(`${greeting}\r\n`)
  let held = ''
  socket.on('data', (chunk) => {
    held += chunk.toString('utf8')
    let out = ''
    for (let end = held.indexOf('\n'); end >= 0; end = held.indexOf('\n')) {
      const line = held.slice(0, end).replace(/\r$/, '')
      held = held.slice(end + 1)
      lines.push(line)
      const reply = replyTo(line, script, session)
      if (reply !== null) out += `${reply}\r\n`
    }
    if (out !== '' && socket.writable) socket.write(out)
  })
}

function replyTo(line: string, script: SmtpScript, session: SmtpSession): string | null {
  const own = script.command?.(line, session)
  if (own !== undefined) return own
  const verb = line.slice(0, 4).toUpperCase()
  switch (verb) {
    case 'EHLO': {
      const all = ['mx.test', ...(script.offers ?? ['PIPELINING'])]
      return all.map((offer, at) => `250${at === all.length - 1 ? ' ' : '-'}${offer}`).join('\r\n')
    }
    case 'RCPT': {
      session.recipients++
      const address = /<(.*)>/.exec(line)?.[1] ?? ''
      return script.recipient === undefined
        ? '250 2.1.5 ok'
        : script.recipient(address.toLowerCase(), session)
    }
    case 'MAIL':
    case 'RSET':
      session.recipients = 0
      return '250 2.0.0 ok'
    case 'HELO':
      return '250 mx.test'
    case 'QUIT':
      session.socket.end('221 2.0.0 bye\r\n')
      return null
    default:
      return '502 5.5.1 not known'
  }
}

/** A resolver over a fixed zone: `name TYPE` to records; other names do not exist. */
export function fakeResolver(
  zone: Readonly<Record<string, readonly unknown[] | DnsAnswer['kind'] | 'no_root' | 'hang'>>,
): Resolver & { readonly asked: string[] } {
  const asked: string[] = []
  const names = new Set(Object.keys(zone).map((key) => key.split(' ')[0]))
  return {
    asked,
    resolve(name, type, options) {
      asked.push(`${name} ${type}`)
      const entry = zone[`${name} ${type}`]
      const answer = (value: unknown) => Promise.resolve(value as never)
      if (entry === 'hang') {
        return new Promise((resolve) => {
          const end = (): void => resolve({ kind: 'failed', reason: 'timeout' })
          options?.signal?.addEventListener('abort', end)
        })
      }
      if (entry === 'failed') return answer({ kind: 'failed', reason: 'servfail' })
      if (entry === 'no_root') return answer({ kind: 'failed', reason: entry })
      if (entry === 'nodata' || entry === 'nxdomain') return answer({ kind: entry, ttlSeconds: 60 })
      if (Array.isArray(entry)) return answer({ kind: 'records', records: entry, ttlSeconds: 60 })
      return answer({ kind: names.has(name) ? 'nodata' : 'nxdomain', ttlSeconds: 60 })
    },
    ask: () => Promise.resolve({ kind: 'failed', reason: 'refused' }),
  }
}

/** In-process memory. */
export function processMemory(now: () => number = Date.now): Memory {
  const held = new Map<string, { value: Json; untilMs: number }>()
  const read = (key: string): Json | undefined => {
    const entry = held.get(key)
    return entry !== undefined && entry.untilMs > now() ? entry.value : undefined
  }
  return {
    get: (keys) => Promise.resolve(keys.map(read)),
    set(entries) {
      for (const { key, value, ttlMs } of entries) held.set(key, { value, untilMs: now() + ttlMs })
      return Promise.resolve()
    },
    claim({ key, value, ttlMs }) {
      if (read(key) !== undefined) return Promise.resolve(false)
      held.set(key, { value, untilMs: now() + ttlMs })
      return Promise.resolve(true)
    },
    delete(keys) {
      for (const key of keys) held.delete(key)
      return Promise.resolve()
    },
  }
}

/** In-process limiter. */
export function processLimiter(now: () => number = Date.now): Limiter {
  const buckets = new Map<string, { level: number; atMs: number }>()
  const places = new Map<string, Set<symbol>>()
  return {
    take(key, count, { perSecond, burst }) {
      const bucket = buckets.get(key) ?? { level: burst, atMs: now() }
      bucket.level = Math.min(burst, bucket.level + ((now() - bucket.atMs) / 1000) * perSecond)
      bucket.atMs = now()
      buckets.set(key, bucket)
      if (bucket.level < count) {
        const retryMs = Math.ceil(((count - bucket.level) / perSecond) * 1000)
        return Promise.resolve({ granted: false, retryMs })
      }
      bucket.level -= count
      return Promise.resolve({ granted: true })
    },
    lease(key, limit): Promise<Lease> {
      const held = places.get(key) ?? new Set()
      places.set(key, held)
      if (held.size >= limit) return Promise.resolve({ granted: false, retryMs: 1000 })
      const place = Symbol(key)
      held.add(place)
      return Promise.resolve({
        granted: true,
        renew: () => Promise.resolve(held.has(place)),
        release() {
          held.delete(place)
          return Promise.resolve()
        },
      })
    },
  }
}

/** A reference list of the given names. */
export function nameList(name: NameList['name'], entries: readonly string[]): NameList {
  const names = new Set(entries)
  const source = {
    name: 'test',
    origin: 'test',
    licence: null,
    date: '2026-01-01',
    count: names.size,
  }
  const match = (domain: string): string | null => {
    for (let at = domain; at !== ''; at = at.includes('.') ? at.slice(at.indexOf('.') + 1) : '') {
      if (names.has(at)) return at
    }
    return null
  }
  return {
    name,
    sources: [source],
    count: names.size,
    date: source.date,
    has: (domain) => match(domain) !== null,
    match,
    exact: (entry) => names.has(entry),
    sourceOf: (entry) => (names.has(entry) ? source : null),
    entries: () => names.values(),
  }
}
