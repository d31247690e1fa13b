import { serveLive } from '@plumbline/queue/live-server'
import { work } from '@plumbline/queue/jobs'
import { emailOutcome } from './outcomes.ts'
import { openPostgresTestQueue, openRedisTestQueue } from './queue.ts'

/**
 * A worker process for tests that kill workers: `queue-worker MODE URL [PREFIX]`. In mode `answer` it
 * answers every email question at once, in mode `hold` it takes jobs of `bulk-email` and never ends them.
 * Sends its parent `ready` and `taken`; exits with its parent.
 */
const [mode = '', url = '', prefix = ''] = process.argv.slice(2)
const onError = (): void => {}
process.once('disconnect', () => process.exit())
const queue = await (url.startsWith('redis')
  ? openRedisTestQueue(url, prefix)
  : openPostgresTestQueue(url))
if (mode === 'answer') {
  await serveLive(queue.backend, 'email', async ({ subject }) => emailOutcome(subject), { onError })
} else {
  await work(
    queue.backend,
    'bulk-email',
    async () => {
      process.send?.('taken')
      await new Promise(() => {})
    },
    { concurrency: 1, lockMs: 500, onError },
  )
}
process.send?.('ready')
