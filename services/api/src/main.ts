import { readAwsSecrets } from '@plumbline/runtime/aws-secrets'
import { leaveRoot } from '@plumbline/runtime/leave-root'
import { createLog } from '@plumbline/runtime/log'
import { keepFilesPrivate } from '@plumbline/runtime/private-files'
import { readSettings } from '@plumbline/runtime/settings'
import { parentMessage, runUntilStopped, reportReady } from '@plumbline/runtime/shutdown'
import { startOrExit } from '@plumbline/runtime/start'
import { serve } from './serve.ts'
import { apiSettings } from './settings.ts'

const program = 'api'
keepFilesPrivate()
const settings = await startOrExit(program, () => {
  readAwsSecrets()
  return readSettings(apiSettings)
})
const log = createLog({ name: program, level: settings.LOG_LEVEL })
const needs = { ...settings, reads: [settings.SCORE_WEIGHTS_FILE], port: settings.PORT }
await startOrExit(program, () => leaveRoot(needs, (message) => log.warn({}, message)))

/** Resolves when the parent process reports that the command line can find the service. */
const found = process.argv.includes('--found-later') ? parentMessage('found') : undefined

const graceMs = (settings.STOP_DELAY_SECONDS + settings.DRAIN_SECONDS) * 1_000 + 10_000
await runUntilStopped({ program, log, graceMs }, async (stop) => {
  const api = await serve(settings, log, stop, found)
  log.info({ address: api.address, port: api.port, admin_port: api.adminPort }, 'api ready')
  reportReady({ port: api.port, adminPort: api.adminPort })
  return api
})
