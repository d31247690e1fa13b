import type { IncomingMessage } from 'node:http'

/** `uri-host [ ":" port ]` of RFC 9110 7.2; empty if a request has no authority. */
const HOST = /^(\[[\w:.%~-]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/

/** Host names of a service that listens on loopback. */
const LOOPBACK_NAMES: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/** Whether a request has one valid `Host` header, which HTTP/1.0 may leave out (RFC 9112 3.2). */
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
 * Whether the `Host` of a request is loopback: a web page may resolve its own name to 127.0.0.1,
 * and could then read responses of the service under that name (DNS rebinding).
 */
export function namesLoopback(req: IncomingMessage): boolean {
  const name = HOST.exec(req.headers.host ?? '')?.[1] ?? ''
  return hasOneHost(req) && isLoopbackName(name.toLowerCase())
}

/** Whether a host name, as in a URL, is one of a service that listens on loopback. */
export function isLoopbackName(name: string): boolean {
  return LOOPBACK_NAMES.includes(name)
}
