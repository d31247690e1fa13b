import type { Visitor } from '@plumbline/people/people'
import { Problem } from '@plumbline/contract/problem'
import { isIP } from 'node:net'
import type { Request, Response } from 'express'
import { networkOf, siteOf } from './network.ts'
import { namesLoopback } from '@plumbline/runtime/host-header'

/**
 * Name of the session cookie over TLS; browsers then accept it from this host only (RFC 6265bis
 * 4.1.3.2).
 */
const SECURE_COOKIE = '__Host-plumbline'
/** Name over plain HTTP on loopback, where browsers refuse a `__Host-` cookie. */
const LOOPBACK_COOKIE = 'plumbline'

const BROWSER_CHARS = 200

/** Connection by which a browser reached the service. */
type Reached = 'tls' | 'loopback' | 'open'

/** The client of a request, for limits and the audit of sessions. */
export function visitorOf(req: Request): Visitor {
  const agent = req.headers['user-agent'] ?? ''
  return {
    network: networkOf(req.ip ?? ''),
    site: siteOf(req.ip ?? ''),
    browser: agent.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, BROWSER_CHARS),
    isLocal: namesLoopback(req) && isLoopback(req.ip ?? ''),
    origin: `${req.protocol}://${req.headers.host ?? 'localhost'}`,
  }
}

/**
 * The secret in the request's session cookie; undefined if there is none with the name that this
 * connection requires.
 */
export function sessionSecretOf(req: Request, publicUrl: string | undefined): string | undefined {
  const header = req.headers.cookie
  if (header === undefined) return undefined
  const reached = reachedBy(req, publicUrl)
  if (reached === 'open') return undefined
  const name = reached === 'tls' ? SECURE_COOKIE : LOOPBACK_COOKIE
  for (const part of header.split(';')) {
    const equals = part.indexOf('=')
    if (part.slice(0, equals).trim() === name) return part.slice(equals + 1).trim()
  }
  return undefined
}

/**
 * Sets the session cookie, or removes it if `secret` is undefined.
 * @throws Problem if the page was reached neither by TLS nor on this machine
 */
export function setSessionCookie(
  req: Request,
  res: Response,
  publicUrl: string | undefined,
  secret: string | undefined,
  maxAgeSeconds: number,
): void {
  const reached = reachedBy(req, publicUrl)
  if (reached === 'open') {
    if (secret === undefined) return
    throw openHttp()
  }
  const isSecure = reached === 'tls'
  const parts = [
    `${isSecure ? SECURE_COOKIE : LOOPBACK_COOKIE}=${secret ?? ''}`,
    'Path=/',
    'HttpOnly',
    'SameSite=Lax',
    `Max-Age=${secret === undefined ? 0 : maxAgeSeconds}`,
    ...(isSecure ? ['Secure'] : []),
  ]
  res.appendHeader('Set-Cookie', parts.join('; '))
}

/**
 * Refuses to sign in over a connection where a cookie would not be safe, before anything is done.
 *
 * @throws Problem
 */
export function refuseOpenHttp(req: Request, publicUrl: string | undefined): void {
  if (reachedBy(req, publicUrl) === 'open') throw openHttp()
}

function openHttp(): Problem {
  return new Problem(
    'forbidden',
    'Signing in requires HTTPS, or a browser on the machine of the service itself; open the page that way.',
  )
}

/**
 * Refuses a cross-site request: it must come from a page of this host, as the browser reports.
 * Source: Fetch Metadata; OWASP CSRF Prevention Cheat Sheet, 2026-11.
 */
export function refuseForeignOrigin(req: Request, publicUrl: string | undefined): void {
  const site = req.headers['sec-fetch-site']
  const { origin } = req.headers
  if (site !== undefined ? site === 'same-origin' : isOwnOrigin(req, origin, publicUrl)) return
  throw new Problem(
    'forbidden',
    'A signed-in request must come from a page of this service; scripts send an API key instead.',
  )
}

/**
 * Refuses requests that a web page may have caused through a name of its own that resolves to us
 * (DNS rebinding): an `Origin` of another site, and a `Host` that is neither an address, a name
 * without a dot, nor `PUBLIC_URL`. Source: Model Context Protocol 2025-11-25, transports, security
 * warning.
 */
export function refuseForeignSite(req: Request, publicUrl: string | undefined): void {
  const { origin, host = '' } = req.headers
  const own = publicUrl === undefined ? undefined : new URL(publicUrl)
  if (origin !== undefined && origin !== own?.origin) {
    throw new Problem(
      'forbidden',
      'A page of another site may not call this; only programs and pages of this service may.',
    )
  }
  const name = host.replace(/:\d*$/, '')
  const isPlain = name.startsWith('[') || isIP(name) === 4 || !name.includes('.')
  if (isPlain || host.toLowerCase() === own?.host) return
  throw new Problem(
    'forbidden',
    'The service is not known by this name; its operator sets PUBLIC_URL to the address that it is reached at.',
  )
}

function isOwnOrigin(
  req: Request,
  origin: string | undefined,
  publicUrl: string | undefined,
): boolean {
  if (origin === undefined || origin === 'null') return false
  if (publicUrl !== undefined && origin === new URL(publicUrl).origin) return true
  return origin === `${req.protocol}://${req.headers.host ?? ''}`
}

function reachedBy(req: Request, publicUrl: string | undefined): Reached {
  if (req.protocol === 'https') return 'tls'
  if (namesLoopback(req)) return 'loopback'
  const known = publicUrl === undefined ? undefined : new URL(publicUrl)
  // A proxy in front ends TLS and is not among those that are trusted to say so.
  return known?.protocol === 'https:' && known.host === req.headers.host ? 'tls' : 'open'
}

function isLoopback(address: string): boolean {
  if (isIP(address) === 4) return address.startsWith('127.')
  return address === '::1' || address.toLowerCase().startsWith('::ffff:127.')
}
