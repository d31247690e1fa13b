import { keepFilesPrivate } from '@plumbline/runtime/private-files'
import { startFault } from '@plumbline/runtime/start'

/** Milliseconds after which the process ends even if something is still open. */
const EXIT_MS = 500

/**
 * Runs a command of the operator and prints the message that it returns, or why it failed, after
 * `failure`.
 */
export async function runCommand(failure: string, command: () => Promise<string>): Promise<void> {
  keepFilesPrivate()
  try {
    process.stdout.write(await command())
  } catch (error) {
    const fault = startFault(error)
    if (fault === null) throw error
    process.stderr.write(`${failure}: ${fault}\n`)
    process.exitCode = 1
  }
  // Handles of the server's process can outlive it; everything of ours has ended here.
  setTimeout(() => process.exit(), EXIT_MS).unref()
}
