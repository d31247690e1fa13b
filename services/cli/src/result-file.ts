import { open, realpath, rename, rm, stat } from 'node:fs/promises'
import { extname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import type { ResultFormat } from '@plumbline/contract/results-request'
import { Refusal } from './refusal.ts'

/**
 * The requested format, else that of the file's extension: NDJSON for `.ndjson` and `.jsonl`, a
 * workbook for `.xlsx`, an archive for `.zip`, CSV for all others.
 */
export function formatOf(path: string, named: ResultFormat | undefined): ResultFormat {
  return named ?? FORMATS.get(extname(path).toLowerCase()) ?? 'csv'
}

const FORMATS: ReadonlyMap<string, ResultFormat> = new Map([
  ['.ndjson', 'ndjson'],
  ['.jsonl', 'ndjson'],
  ['.xlsx', 'xlsx'],
  ['.zip', 'zip'],
])

/**
 * A result file that is being written; disposing of it before `keep` has ended leaves no file
 * behind.
 */
export interface ResultFile extends AsyncDisposable {
  /** Writes the body under a temporary name, flushes it to disk and renames it. */
  keep(body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<void>
}

/**
 * Opens a temporary file beside a path, before anything is uploaded. @throws Refusal if it cannot
 * be written
 */
export async function openResultFile(path: string): Promise<ResultFile> {
  const there = await stat(path).catch(() => undefined)
  if (there?.isDirectory() === true) {
    throw new Refusal(`${path} is a folder; name a file with --out.`)
  }
  // As `/dev/stdout` or `/dev/null`, in whose folder root may rename files.
  if (there?.isFile() === false) {
    throw new Refusal(`${path} is a device or a pipe, not a file; name a file with --out.`)
  }
  // A link stays, and the file that it names is replaced.
  const target = there === undefined ? path : await realpath(path)
  const part = `${target}.${process.pid}.part`
  const file = await open(part, 'w').catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    throw new Refusal(`${path} cannot be written (${code}); name another file with --out.`, {
      cause: error,
    })
  })
  return {
    keep: async (body, signal) => {
      await pipeline(Readable.fromWeb(body), file.createWriteStream({ flush: true }), { signal })
      await rename(part, target)
    },
    [Symbol.asyncDispose]: async () => {
      await file.close()
      await rm(part, { force: true })
    },
  }
}
