import iconv from 'iconv-lite'
import type { Encoding } from '@plumbline/contract/encodings'

/** UTF-8 text in another encoding; characters that it lacks are written as `?`. */
export async function* encoded(
  pieces: AsyncIterable<Buffer>,
  encoding: Encoding,
): AsyncGenerator<Buffer, void, undefined> {
  if (encoding === 'utf-8') {
    yield* pieces
    return
  }
  // A piece may end within a character.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const encoder = iconv.getEncoder(encoding, { addBOM: false })
  for await (const piece of pieces) yield encoder.write(decoder.decode(piece, { stream: true }))
  yield encoder.write(decoder.decode())
  const last = encoder.end()
  if (last !== undefined) yield last
}
