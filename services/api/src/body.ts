import type { CALL_LIMITS, LimitsOf } from '@plumbline/contract/limits'
import { Problem } from '@plumbline/contract/problem'
import type { Request, Response } from 'express'
import { isUtf8 } from 'node:buffer'
import { faultOfJson, isSurelyWithin, type JsonBounds, type JsonFault } from './json-scanner.ts'

/**
 * Milliseconds within which a JSON body must arrive. Source: as Node's `requestTimeout`, against
 * slow senders.
 */
const BODY_ARRIVAL_MS = 30_000

/**
 * Reads a JSON body of at most `BODY_LIMIT_BYTES`, in the order 413, 415, 400 (decision 9). Throws
 * `Problem` for a body that is too large, of another type, cut, not JSON, too deep or of too many
 * keys.
 */
export async function readJson(
  req: Request,
  res: Response,
  settings: LimitsOf<typeof CALL_LIMITS>,
): Promise<unknown> {
  refuseLength(req, settings.BODY_LIMIT_BYTES)
  refuseType(req)
  const bytes = await readBytes(req, res, settings.BODY_LIMIT_BYTES)
  return parseJson(bytes, jsonBounds(settings))
}

/** The bounds of depth and keys of JSON bodies, by the settings. */
export function jsonBounds(settings: LimitsOf<typeof CALL_LIMITS>): JsonBounds {
  return { depth: settings.JSON_DEPTH_LIMIT, keys: settings.JSON_KEYS_LIMIT }
}

/** Refuses a body whose `Content-Length` exceeds the limit, before any byte is read. */
export function refuseLength(req: Request, limitBytes: number): void {
  const declared = Number(req.headers['content-length'] ?? 0)
  if (declared > limitBytes) throw tooLarge(limitBytes)
}

/** The media type of a body without its parameters, in lower case. */
export function mediaType(req: Request): string {
  const header = req.headers['content-type'] ?? ''
  const end = header.indexOf(';')
  return (end === -1 ? header : header.slice(0, end)).trim().toLowerCase()
}

/** Refuses a body whose headers say that it is not JSON in UTF-8. */
export function refuseType(req: Request): void {
  const header = req.headers['content-type']
  if (header === 'application/json' && req.headers['content-encoding'] === undefined) return
  if (mediaType(req) !== 'application/json') {
    throw new Problem(
      'unsupported_media_type',
      'Send the body as `Content-Type: application/json`.',
    )
  }
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(header ?? '')?.[1]
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    throw new Problem('unsupported_media_type', 'Send the JSON body in UTF-8.')
  }
  refuseEncoding(req)
}

/** Refuses a compressed body: its size is not known before it is decompressed. */
export function refuseEncoding(req: Request): void {
  const encoding = req.headers['content-encoding'] ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    throw new Problem('unsupported_media_type', 'Send the body without a Content-Encoding.')
  }
}

/** The refusal of a body of more than `limitBytes`. */
export function tooLarge(limitBytes: number): Problem {
  return new Problem(
    'payload_too_large',
    `The body may have at most ${limitBytes} bytes; send less.`,
  )
}

/** Sends `100 Continue` to a client that waits for it. */
export function wantBody(req: Request, res: Response): void {
  if (req.headers.expect?.toLowerCase() === '100-continue') res.writeContinue()
}

async function readBytes(req: Request, res: Response, limitBytes: number): Promise<Buffer> {
  wantBody(req, res)
  return await new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const timer = setTimeout(() => {
      fail(new Problem('bad_request', 'The body did not arrive in time; send it in one go.'))
    }, BODY_ARRIVAL_MS)
    const settle = (): void => {
      clearTimeout(timer)
      req.off('data', onData).off('end', onEnd).off('error', onCut).off('close', onCut)
    }
    const fail = (problem: Problem): void => {
      settle()
      reject(problem)
    }
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      if (size > limitBytes) fail(tooLarge(limitBytes))
      else chunks.push(chunk)
    }
    const onEnd = (): void => {
      settle()
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks))
    }
    const onCut = (): void =>
      fail(new Problem('bad_request', 'The body was cut off; send it whole.'))
    req.on('data', onData).on('end', onEnd).on('error', onCut).on('close', onCut)
    // The client may have left before, and what it sent is lost.
    if (req.destroyed) onCut()
  })
}

function parseJson(bytes: Buffer, bounds: JsonBounds): unknown {
  if (!isUtf8(bytes)) throw notUtf8()
  const text = bytes.toString('utf8')
  if (!isSurelyWithin(text, bounds)) {
    const fault = faultOfJson(text, bounds)
    if (fault !== undefined) throw faulty(fault, bounds)
  }
  try {
    return JSON.parse(text)
  } catch {
    // The cause would quote the body, and with it a subject, in the log.
    throw faulty('malformed', bounds)
  }
}

/** The refusal of a JSON body that is malformed or exceeds the limits. */
export function faulty(fault: JsonFault, { depth, keys }: JsonBounds): Problem {
  return new Problem('bad_request', faultText(fault, depth, keys))
}

function faultText(fault: JsonFault, depth: number, keys: number): string {
  switch (fault) {
    case 'malformed':
      return 'The body is not JSON; send one JSON object.'
    case 'too_deep':
      return `The body nests deeper than ${depth} levels; send flat JSON.`
    case 'too_many_keys':
      return `The body has more than ${keys} keys and items in one place; send fewer.`
  }
}

/** The refusal of a body that is not UTF-8. */
export function notUtf8(): Problem {
  return new Problem('bad_request', 'The body is not UTF-8; send JSON in UTF-8.')
}
