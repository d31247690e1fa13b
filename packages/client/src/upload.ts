import type { Body } from './connection.ts'
import type { OpenedPath } from './opened-path.ts'
import { randomName } from './web-crypto.ts'

/** Source of an upload: a Blob or File, or its bytes as a stream, which can be sent only once. */
export type FileSource = Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>

/** A form with one file; in a browser the file is a Blob. */
export interface UploadForm {
  readonly fields: Readonly<Record<string, string>>
  readonly file: FileSource | OpenedPath
  readonly fileName: string
}

/**
 * A form as a request body. A Blob and a file of this machine are read again for each attempt; a
 * stream can be sent only once, so that such a call is not retried.
 */
export async function uploadBody({ fields, file, fileName }: UploadForm): Promise<Body> {
  if (file instanceof Blob) {
    return {
      make: () => {
        const form = new FormData()
        for (const [name, value] of Object.entries(fields)) form.set(name, value)
        form.set('file', file, fileName)
        return form
      },
    }
  }
  const boundary = `plumbline-${await randomName()}`
  const isPath = 'kind' in file
  return {
    once: !isPath,
    make: () => ({
      type: `multipart/form-data; boundary=${boundary}`,
      stream: streamOf(formParts(fields, isPath ? file.bytes() : file, fileName, boundary)),
    }),
  }
}

/** The bytes of a form (RFC 7578), with names escaped as browsers do (WHATWG HTML 4.10.22.7). */
async function* formParts(
  fields: Readonly<Record<string, string>>,
  file: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>,
  fileName: string,
  boundary: string,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  let head = ''
  for (const [name, value] of Object.entries(fields)) {
    head += `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(name)}"\r\n\r\n${value}\r\n`
  }
  head +=
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${escaped(fileName)}"\r\n` +
    'Content-Type: application/octet-stream\r\n\r\n'
  yield encoder.encode(head)
  yield* Symbol.asyncIterator in file ? file : chunksOf(file)
  yield encoder.encode(`\r\n--${boundary}--\r\n`)
}

function escaped(name: string): string {
  return name.replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('"', '%22')
}

/** The chunks of a stream that may not be iterable; releases the stream at the end. */
export async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  let isWhole = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) {
        isWhole = true
        return
      }
      yield value
    }
  } finally {
    if (!isWhole) await reader.cancel().catch(() => undefined)
    reader.releaseLock()
  }
}

/** `ReadableStream.from` is not in Node 18. */
function streamOf(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await chunks.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      cancel: async () => {
        await chunks.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
}
