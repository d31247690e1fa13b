import { Readable } from 'node:stream'
import { ZipFile } from 'yazl'

/** A file of an archive. */
export interface ZipEntry {
  readonly name: string
  /** Whether it may exceed 4 GiB uncompressed, which its header must declare. */
  readonly mayBeHuge?: boolean
  /** Opens the content, once the entries before it are written; read as fast as the archive is. */
  open(): Readable | string
}

/** Fast, and on tables nearly as small as the slower levels. */
const LEVEL = 3

/**
 * A ZIP archive of files, written one after the other as fast as the archive is read. If one of
 * them fails, the archive fails; if the reader stops, the file being read is closed.
 */
export function zipStream(entries: readonly ZipEntry[]): Readable {
  return Readable.from(archive(entries), { objectMode: false })
}

async function* archive(entries: readonly ZipEntry[]): AsyncGenerator<Buffer, void, undefined> {
  const zip = new ZipFile()
  const output = outputOf(zip)
  let current: Readable | undefined
  zip.on('error', (error: Error) => output.destroy(error))
  for (const { name, mayBeHuge = false, open } of entries) {
    const options = { compressionLevel: LEVEL, forceZip64Format: mayBeHuge, mode: 0o100_644 }
    zip.addReadStreamLazy(name, options, (give) => {
      if (output.destroyed) return
      const content = open()
      current = typeof content === 'string' ? Readable.from([Buffer.from(content)]) : content
      current.once('error', (error) => output.destroy(error))
      give(null, current)
    })
  }
  zip.end()
  try {
    yield* output
  } finally {
    output.destroy()
    current?.destroy()
  }
}

/**
 * Safe because `yazl` makes its output a `PassThrough` of buffers; the types name only the
 * interface.
 */
function outputOf(zip: ZipFile): Readable & AsyncIterable<Buffer> {
  return zip.outputStream as Readable
}
