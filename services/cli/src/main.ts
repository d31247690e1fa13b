import { keepFilesPrivate } from '@plumbline/runtime/private-files'
import { processEnvironment } from '@plumbline/runtime/settings'
import { runCli } from './program.ts'

// The command line of the service: plumbline COMMAND ...

/** One ctrl-C comes twice, from the terminal and from npm: signals within this time count as one. */
const SAME_SIGNAL_MS = 1_000
/** The process ends after this long even where a connection is still open. */
const EXIT_MS = 2_000

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
  process.exit(error.code === 'EPIPE' ? 0 : 1)
})

let failed = false
const status = await runCli(process.argv.slice(2), {
  environment: processEnvironment(),
  write: (text) => void process.stdout.write(text),
  tell: (text) => void process.stderr.write(text),
  redraws: process.stderr.isTTY,
  hasColors: process.stdout.isTTY && process.stdout.hasColors(),
  stop: stop.signal,
  fail: () => {
    failed = true
  },
})
process.exitCode = status === 0 && failed ? 1 : status
setTimeout(() => process.exit(), EXIT_MS).unref()
