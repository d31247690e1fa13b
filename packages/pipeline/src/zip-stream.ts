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
 * A ZIP archive of files, written one after the other as fast as the archive is read; each is taken
 * from `entries` when the one before is written. If one of them fails, the archive fails; if the
 * reader stops, the file being read is closed.
 */
export function zipStream(entries: Iterable<ZipEntry> | AsyncIterable<ZipEntry>): Readable {
  return Readable.from(archive(entries), { objectMode: false })
}

async function* archive(
  entries: Iterable<ZipEntry> | AsyncIterable<ZipEntry>,
): AsyncGenerator<Buffer, void, undefined> {
  const zip = new ZipFile()
  const output = outputOf(zip)
  let entry: ZipEntry | undefined
  let content: Readable | undefined
  let written = (): void => {}
  // One for all entries: the archive keeps it with each of them until its end.
  const open = (give: (error: unknown, content: Readable) => void): void => {
    if (entry === undefined || output.destroyed) return
    const opened = entry.open()
    content = typeof opened === 'string' ? Readable.from([Buffer.from(opened)]) : opened
    content.once('error', (error) => output.destroy(error))
    content.once('end', written)
    give(null, content)
  }
  const addAll = async (): Promise<void> => {
    for await (entry of entries) {
      const { name, mayBeHuge = false } = entry
      const options = { compressionLevel: LEVEL, forceZip64Format: mayBeHuge, mode: 0o100_644 }
      const isWritten = new Promise<void>((resolve) => {
        written = resolve
      })
      zip.addReadStreamLazy(name, options, open)
      await isWritten
      if (output.destroyed) return
    }
    zip.end()
  }
  zip.on('error', (error: Error) => output.destroy(error))
  output.once('close', () => written())
  addAll().catch((error: Error) => output.destroy(error))
  try {
    yield* output
  } finally {
    output.destroy()
    content?.destroy()
  }
}

/**
 * Safe because `yazl` makes its output a `PassThrough` of buffers; the types name only the
 * interface.
 */
function outputOf(zip: ZipFile): Readable & AsyncIterable<Buffer> {
  return zip.outputStream as Readable
}
