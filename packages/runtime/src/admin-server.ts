import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { BlockList, isIP } from 'node:net'
import type { Registry } from 'prom-client'
import { namesLoopback } from './host-header.ts'
import { bindServer, closeServer, type Listening } from './listen.ts'
import { wholeNumber } from './settings.ts'
import { z } from 'zod'

/** Settings of the admin port that every program shares. Documented in docs/settings.md. */
export const adminSettings = {
  ADMIN_HOST: z
    .string()
    .refine((host) => isIP(host) !== 0, 'expected an IP address')
    .default('127.0.0.1'),
  /** Unset: on an address other than loopback only metrics and probes are served. */
  ADMIN_TOKEN: z
    .string()
    .regex(/^[!-~]{16,}$/, 'expected 16 characters or more, without blanks')
    .optional(),
}

/** A port of the admin server; 0 takes a free one. */
export function adminPort(): ReturnType<typeof wholeNumber> {
  return wholeNumber({ min: 0, max: 65_535 })
}

/** Whether a program is ready, and the reason if not; the detail is for the operator only. */
export interface Readiness {
  readonly ready: boolean
  readonly detail: object
}

/** The content of a program's admin port. */
export interface AdminProgram {
  readonly registry: Registry
  readiness(): Promise<Readiness>
  /** Serves other pages, for the operator only; false if there is none at that path. */
  readonly more?: (req: IncomingMessage, res: ServerResponse) => Promise<boolean>
  readonly onError: (error: unknown) => void
}

/** Address of the admin port. */
export interface AdminAddress {
  readonly host: string
  readonly port: number
  readonly token: string | undefined
}

const HEADERS_MS = 10_000

/**
 * Listens on the admin port: `/metrics` in the Prometheus text format, `/livez`, `/readyz`, and the
 * program's own pages. On loopback a request must have a loopback `Host`, else it gets 421; on
 * another address a request without the token gets metrics and probes without detail, and 401 for
 * the rest (403 if there is no token). Programs send it as `Authorization: Bearer`, a browser asks
 * its user for it and sends it as the password of `Authorization: Basic`, with any name.
 */
export async function listenForAdmin(
  program: AdminProgram,
  { host, port, token }: AdminAddress,
): Promise<Listening> {
  const isLocal = isLoopback(host)
  const server = createServer({ headersTimeout: HEADERS_MS }, (req, res) => {
    if (isLocal && !namesLoopback(req)) return sendText(res, 421, MISDIRECTED)
    const access = isLocal ? 'operator' : accessOf(req, token)
    respond(program, access, req, res).catch((error: unknown) => {
      program.onError(error)
      sendText(res, 500, 'failed; see the log\n')
    })
  })
  const bound = await bindServer(server, host, port, 'ADMIN_PORT or WORKER_ADMIN_PORT')
  return { ...bound, [Symbol.asyncDispose]: () => closeServer(server, 0) }
}

const MISDIRECTED = 'call this port by localhost, 127.0.0.1 or [::1]\n'
const NEEDS_TOKEN = 'more than metrics and probes needs ADMIN_TOKEN\n'
/** Sources: RFC 6750, 3; RFC 7617, 2. */
const CHALLENGES = ['Bearer realm="admin"', 'Basic realm="admin", charset="UTF-8"']

/** Access to more than metrics and probes: granted, with a token only, or to nobody. */
type Access = 'operator' | 'locked' | 'closed'

async function respond(
  program: AdminProgram,
  access: Access,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const path = (req.url ?? '').split('?', 1)[0]
  const isRead = req.method === 'GET'
  if (isRead && path === '/metrics') {
    const { registry } = program
    return send(res, 200, registry.contentType, await registry.metrics())
  }
  if (isRead && path === '/livez') return sendText(res, 200, 'ok\n')
  if (isRead && path === '/readyz') {
    const { ready, detail } = await program.readiness()
    const body = JSON.stringify(access === 'operator' ? { ready, ...detail } : { ready })
    return send(res, ready ? 200 : 503, 'application/json; charset=utf-8', body)
  }
  if (access === 'closed') return sendText(res, 403, NEEDS_TOKEN)
  if (access === 'locked') {
    res.setHeader('WWW-Authenticate', CHALLENGES)
    return sendText(res, 401, NEEDS_TOKEN)
  }
  if (await program.more?.(req, res)) return
  if (!isRead) return sendText(res, 405, 'GET only\n')
  sendText(res, 404, '/metrics, /livez or /readyz\n')
}

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8)
LOOPBACK.addAddress('::1', 'ipv6')

function isLoopback(host: string): boolean {
  return LOOPBACK.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4')
}

function accessOf({ headers }: IncomingMessage, token: string | undefined): Access {
  if (token === undefined) return 'closed'
  const sent = tokenIn(headers.authorization ?? '')
  // Digests have equal length, as the comparison requires, and do not reveal that of the token.
  const isToken = sent !== undefined && timingSafeEqual(digest(sent), digest(token))
  return isToken ? 'operator' : 'locked'
}

/** The token of `Bearer`, or the password of `Basic`, whose name ends at the first colon. */
function tokenIn(authorization: string): string | undefined {
  const [, scheme = '', credentials = ''] = /^(Bearer|Basic) (\S+)$/i.exec(authorization) ?? []
  if (scheme.toLowerCase() !== 'basic') return credentials === '' ? undefined : credentials
  return /:(.*)$/s.exec(Buffer.from(credentials, 'base64').toString())?.[1]
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function sendText(res: ServerResponse, status: number, body: string): void {
  send(res, status, 'text/plain; charset=utf-8', body)
}

function send(res: ServerResponse, status: number, type: string, body: string): void {
  if (res.headersSent) return
  res.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) })
  res.end(body)
}
