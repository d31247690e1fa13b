import { createInterface } from 'node:readline/promises'
import { keepFilesPrivate } from '@plumbline/runtime/private-files'
import { processEnvironment } from '@plumbline/runtime/settings'
import { exitOnceWritten } from './leave.ts'
import { runCli } from './program.ts'

// The command line of the service: plumbline COMMAND ...

/**
 * One Ctrl-C arrives twice, from the terminal and from npm: signals within this time count as one.
 */
const SAME_SIGNAL_MS = 1_000

keepFilesPrivate()
const stop = new AbortController()
let firstSignalAt: number | undefined
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (firstSignalAt !== undefined && performance.now() - firstSignalAt > SAME_SIGNAL_MS) {
      process.exit(130)
    }
    firstSignalAt ??= performance.now()
    stop.abort()
  })
}
// A reader that has enough, such as `head`, is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  process.stderr.write(`The output cannot be written: ${error.message}.\n`)
  process.exit(1)
})
// Messages that nobody reads end no command, such as a batch whose results are still to be written.
process.stderr.on('error', () => undefined)

let failed = false
async function ask(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await lines.question(question, { signal: stop.signal })).trim())
  } catch (error) {
    // Ctrl-C, which the terminal hands to the question, or the end of input: both are a no.
    if (error instanceof Error && error.name === 'AbortError') return false
    throw error
  } finally {
    lines.close()
  }
}
const status = await runCli(process.argv.slice(2), {
  environment: processEnvironment(),
  input: process.stdin,
  write: (text) => void process.stdout.write(text),
  tell: (text) => void process.stderr.write(text),
  redraws: process.stderr.isTTY,
  hasColors: process.stdout.isTTY && process.stdout.hasColors(),
  stop: stop.signal,
  ...(process.stdin.isTTY && process.stderr.isTTY ? { ask } : {}),
  fail: () => {
    failed = true
  },
})
process.exitCode = status === 0 && failed ? 1 : status
exitOnceWritten(process.stdout, () => process.exit())
