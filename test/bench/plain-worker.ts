import { Worker } from 'bullmq'
import { assembleResult } from '@plumbline/pipeline/assemble'
import { outcomeFor } from '@plumbline/testkit/instant-engines'
import { connectionOf } from './plain-bullmq.ts'

// One process of the plain program: answers a job for each record, 50 concurrently.
const [redisUrl = '', queue = ''] = process.argv.slice(2)
const noScore = (): never => {
  throw new Error('an email result has no score')
}
const scorer = { version: 'none', fraud: noScore, risk: noScore }
const worker = new Worker<{ email: string }>(
  queue,
  async ({ data }) => assembleResult('email', { email: outcomeFor('email', data.email) }, scorer),
  { connection: connectionOf(redisUrl), concurrency: 50 },
)
await worker.waitUntilReady()
process.on('disconnect', () => process.exit(0))
process.send?.('ready')
