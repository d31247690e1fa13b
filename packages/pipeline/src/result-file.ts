import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'

/** A result file that is being written. */
export interface ResultFile extends AsyncDisposable {
  /** Writes text behind what is there. @throws where the disk does not take all of it */
  write(text: string): Promise<void>
  /** Waits until all is on the disk. */
  end(): Promise<{ readonly bytes: number; readonly sha256: string }>
}

/** Makes an empty file; closed, not removed, when disposed. */
export async function createResultFile(path: string): Promise<ResultFile> {
  const file = await open(path, 'w', 0o600)
  const hash = createHash('sha256')
  let bytes = 0
  return {
    async write(text) {
      const buffer = Buffer.from(text)
      hash.update(buffer)
      bytes += buffer.length
      // Goes on after a write that a disk took in part, where `write` would only say so.
      await file.writeFile(buffer)
    },
    async end() {
      await file.sync()
      return { bytes, sha256: hash.digest('hex') }
    },
    [Symbol.asyncDispose]: () => file.close(),
  }
}
