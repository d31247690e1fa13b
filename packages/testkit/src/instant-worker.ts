import { CHECKS } from '@plumbline/contract/products'
import { readAwsSecrets } from '@plumbline/runtime/aws-secrets'
import { createLog } from '@plumbline/runtime/log'
import { keepFilesPrivate } from '@plumbline/runtime/private-files'
import { readSettings } from '@plumbline/runtime/settings'
import { runUntilStopped, reportReady } from '@plumbline/runtime/shutdown'
import { openContext } from '@plumbline/worker/context'
import { serve } from '@plumbline/worker/serve'
import { workerSettings } from '@plumbline/worker/settings'
import { instantEngine } from './instant-engines.ts'

// The worker program with engines that answer from memory (`InstantOptions`): `instant-worker KIND...
// [--delay=MS] [--width=N] [--poison=TEXT] [--slow=N] [--later] [--silent-while=FILE]`.

const words = process.argv.slice(2)
const option = (name: string): string | undefined =>
  words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3)
const poison = option('poison')
const slow = option('slow')
const silentWhile = option('silent-while')
const engineOptions = {
  delayMs: Number(option('delay') ?? 0),
  width: Number(option('width') ?? 50),
  ...(poison === undefined ? {} : { poison }),
  ...(slow === undefined ? {} : { slowPerSecond: Number(slow) }),
  ...(silentWhile === undefined ? {} : { silentWhile }),
  later: words.includes('--later'),
}

keepFilesPrivate()
readAwsSecrets()
const settings = readSettings(workerSettings)
const program = 'instant-worker'
const log = createLog({ name: program, level: settings.LOG_LEVEL, destination: 2 })
await runUntilStopped({ program, log, graceMs: settings.DRAIN_SECONDS * 1000 }, async () => {
  await using stack = new AsyncDisposableStack()
  const context = stack.use(await openContext(settings, log, program))
  const checks = CHECKS.filter((check) => words.includes(check))
  const engines = checks.map((check) => instantEngine(check, engineOptions))
  stack.use(await serve(context, engines, { batches: words.includes('batch') }))
  reportReady()
  return stack.move()
})
