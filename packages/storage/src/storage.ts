import type { Readable } from 'node:stream'

/** Files by key: uploads and results. Keys are made by the server, never by a client. */
export interface Storage extends AsyncDisposable {
  /** Moves a local file in under a key; after it returns the file is durable. */
  put(key: string, path: string): Promise<void>
  /** Begins a file that comes piece by piece; it is in the store once it has ended. */
  create(key: string): Promise<NewFile>
  /** Opens a file for reading, or a part of it. @throws if there is none. */
  open(key: string, range?: ByteRange): Promise<Readable>
  /** A local copy for work that needs a path; `release` drops the copy where one was made. */
  local(key: string): Promise<{ path: string; release(): Promise<void> }>
  /** Removes files; absent ones are no error. */
  remove(keys: readonly string[]): Promise<void>
  /**
   * The files of a folder, such as `uploads`, in no order, a page at a time; all, or those of some
   * names.
   */
  list(folder: string, names?: NameRange): AsyncGenerator<readonly StoredFile[], void, undefined>
  /**
   * Drops parts of files that began to come into a folder before a time and never were whole: of
   * those whose key is ours. They are in no listing, and cost as much as files.
   * @returns how many files began so
   */
  dropParts(folder: string, before: Date, isOurs: (key: string) => boolean): Promise<number>
}

/** A file on its way into the store; disposed of before its end it leaves nothing there. */
export interface NewFile extends AsyncDisposable {
  /** Adds bytes behind those that came; waits while the store takes them more slowly. */
  write(bytes: Uint8Array): Promise<void>
  /** After it returns the file is durable under its key, in place of one that was there. */
  end(): Promise<void>
}

/** A part of a file: its first and last byte, from 0. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** Names that begin with `prefix` and, in the order of their bytes, come after `after`. */
export interface NameRange {
  readonly prefix: string
  readonly after: string
}

/** A file of the store. */
export interface StoredFile {
  readonly key: string
  /** When it came into the store. */
  readonly storedAt: Date
}

/** Files in one page of a listing at most. */
export const LIST_PAGE = 1_000
