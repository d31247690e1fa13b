import type { IncomingMessage } from 'node:http'

/** `uri-host [ ":" port ]` of RFC 9110 7.2; empty where a request has no authority. */
const HOST = /^(\[[\w:.%~-]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/

/** Names by which a service that listens on loopback is called there. */
const LOOPBACK_NAMES: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/** Whether a request names its host as RFC 9112 3.2 wants: once, and from HTTP/1.1 on in any case. */
export function hasOneHost({ headers, httpVersion, rawHeaders }: IncomingMessage): boolean {
  const { host } = headers
  if (host === undefined) return httpVersion !== '1.1'
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') count += 1
  }
  return count === 1 && HOST.test(host)
}

/**
 * Whether a request is meant for a service on loopback: a page of a browser may have a name of its own
 * point there, and then reads what the service answers under that name (DNS rebinding).
 */
export function namesLoopback(req: IncomingMessage): boolean {
  const name = HOST.exec(req.headers.host ?? '')?.[1] ?? ''
  return hasOneHost(req) && LOOPBACK_NAMES.includes(name.toLowerCase())
}
