import { request as httpRequest } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { untilBatch, type Caller } from './batches.ts'

/** An upload request as bytes. */
export interface RawRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: readonly Buffer[]
  /**
   * `cut` disconnects after the body; `drip` then sends a byte every 100 ms until it is disconnected.
   */
  readonly ending?: 'end' | 'cut' | 'drip'
}

/** The expected result of a hostile upload. */
export type Verdict =
  /** Refused at once; the message contains `says`. */
  | { readonly status: number; readonly error: string; readonly says: string }
  /** Accepted, and the batch ends as failed with this error. */
  | { readonly failed: string; readonly says: string }
  /** Unusual but readable: the batch completes with this many rows, of which some are refused. */
  | { readonly rows: number; readonly refused: number }
  /** The client has disconnected, so that there is no response. */
  | 'gone'

/** One hostile upload. */
export interface HostileUpload {
  readonly name: string
  readonly verdict: Verdict
  make(): RawRequest
}

/** The result of an upload. */
export interface Outcome {
  readonly verdict: Verdict
  /** Milliseconds from the last byte sent to the result: the end of the batch, or the refusal. */
  readonly answeredMs: number
  /** The batch, if one was created. */
  readonly id: string | undefined
}

const BOUNDARY = 'hostile-boundary'
const DRIP_EVERY_MS = 100

/** The head of a part of a multipart body. */
export function partHead(disposition: string): string {
  return `--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`
}

/** A multipart upload of fields and one file. */
export function upload(
  file: Buffer | readonly Buffer[],
  options: { fields?: Readonly<Record<string, string>>; fileName?: string } = {},
): RawRequest {
  const { fields = { product: 'email' }, fileName = 'list.csv' } = options
  const head = Object.entries(fields).map(
    ([name, value]) => `${partHead(`name="${name}"`)}${value}\r\n`,
  )
  return multipart([
    Buffer.from(head.join('') + partHead(`name="file"; filename="${fileName}"`)),
    ...(Buffer.isBuffer(file) ? [file] : file),
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ])
}

/** A request with this multipart body, complete or not, in the boundary of `partHead`. */
export function multipart(
  body: readonly Buffer[],
  ending: RawRequest['ending'] = 'end',
): RawRequest {
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
    body,
    ending,
  }
}

/** A request with a multipart body from raw text. */
export function form(text: string, ending: RawRequest['ending'] = 'end'): RawRequest {
  return multipart([Buffer.from(text)], ending)
}

/** The closing boundary of a multipart body. */
export const FORM_END = `--${BOUNDARY}--\r\n`

/** Sends an upload and waits for its result. */
export async function sendHostile(caller: Caller, hostile: HostileUpload): Promise<Outcome> {
  const { answer, lastByteMs } = await send(caller, hostile.make())
  if (answer === undefined) {
    return { verdict: 'gone', answeredMs: performance.now() - lastByteMs(), id: undefined }
  }
  if (answer.status !== 202) {
    const { error, message } = Object(JSON.parse(answer.text))
    const verdict = { status: answer.status, error: String(error), says: String(message) }
    return { verdict, answeredMs: Math.max(0, answer.atMs - lastByteMs()), id: undefined }
  }
  const id = String(Object(JSON.parse(answer.text)).id)
  const view = await untilBatch(caller, id)
  const answeredMs = performance.now() - lastByteMs()
  const verdict: Verdict =
    view.error === null
      ? { rows: view.rows.total, refused: view.rows.refused }
      : { failed: view.error.error, says: view.error.message }
  return { verdict, answeredMs, id }
}

interface Sent {
  readonly answer: { status: number; text: string; atMs: number } | undefined
  lastByteMs(): number
}

async function send({ service, key }: Caller, raw: RawRequest): Promise<Sent> {
  const { promise, resolve } = Promise.withResolvers<Sent['answer']>()
  let lastByteMs = performance.now()
  const over = new AbortController()
  const req = httpRequest(new URL('/v1/batches', service.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...raw.headers },
    agent: false,
  })
  req.on('response', (res) => {
    const chunks: Buffer[] = []
    res.on('data', (chunk: Buffer) => chunks.push(chunk))
    res.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      resolve({ status: res.statusCode ?? 0, text, atMs: performance.now() })
    })
  })
  req.on('error', () => resolve(undefined))
  req.on('close', () => over.abort())
  const flushed = async (chunk: Buffer): Promise<void> => {
    if (over.signal.aborted) return
    await new Promise<void>((done) => {
      over.signal.addEventListener('abort', () => done(), { once: true })
      req.write(chunk, () => done())
    })
    lastByteMs = performance.now()
  }
  for (const chunk of raw.body) await flushed(chunk)
  switch (raw.ending ?? 'end') {
    case 'end':
      req.end()
      break
    case 'cut':
      req.destroy()
      break
    case 'drip':
      while (!over.signal.aborted) {
        await flushed(Buffer.from('x'))
        await wait(DRIP_EVERY_MS)
      }
  }
  const answer = await promise
  req.destroy()
  return { answer, lastByteMs: () => lastByteMs }
}
