import type { Writable } from 'node:stream'

/** Milliseconds after which the process exits even if a connection is still open. */
const EXIT_MS = 2_000

/**
 * Exits once everything is written, and connections had time to close. The reader of a pipe, such
 * as `less`, may take any time: what it has not read yet is still in this process.
 *
 * @param output standard output
 */
export function exitOnceWritten(output: Writable, exit: () => void): void {
  output.write('', () => void setTimeout(exit, EXIT_MS).unref())
}
