import { fork } from 'node:child_process'
import { createReadStream, createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Queue, QueueEvents } from 'bullmq'
import Papa from 'papaparse'
import type { ResultOf } from '@plumbline/contract/results'

const WORKERS = 2
const QUEUE = 'plain'
const ADD = 1000

/**
 * The same work by a plain BullMQ program: it parses the file with papaparse, adds a job for each
 * record, listens for each completion, and writes the file when all are complete. Returns its
 * duration in seconds.
 */
export async function runPlain(redisUrl: string, input: string, output: string): Promise<number> {
  const connection = connectionOf(redisUrl)
  // BullMQ keeps 10,000 events by default; this program would miss some and wait for ever.
  const queue = new Queue(QUEUE, { connection, streams: { events: { maxLen: 2_000_000 } } })
  const events = new QueueEvents(QUEUE, { connection })
  await events.waitUntilReady()
  const workers = await Promise.all(
    Array.from({ length: WORKERS }, async () => {
      const child = fork(fileURLToPath(new URL('./plain-worker.ts', import.meta.url)), [
        redisUrl,
        QUEUE,
      ])
      await once(child, 'message')
      return child
    }),
  )
  const startMs = performance.now()
  const rows = await readRows(input)
  const results: (ResultOf<'email'> | undefined)[] = rows.map(() => undefined)
  let open = rows.length
  const { promise: done, resolve } = Promise.withResolvers<void>()
  events.on('completed', ({ jobId, returnvalue }) => {
    // Safe because plain-worker returns it; BullMQ types it as text but passes the value.
    results[Number(jobId.slice(1))] = returnvalue as unknown as ResultOf<'email'>
    if (--open === 0) resolve()
  })
  for (let at = 0; at < rows.length; at += ADD) {
    await queue.addBulk(
      rows.slice(at, at + ADD).map(([, email], place) => ({
        name: 'email',
        data: { email },
        opts: { jobId: `r${at + place}`, removeOnComplete: true },
      })),
    )
  }
  await done
  await writeRows(output, rows, results)
  const seconds = (performance.now() - startMs) / 1000
  for (const worker of workers) worker.kill()
  await events.close()
  await queue.obliterate({ force: true })
  await queue.close()
  return seconds
}

/** Host and port for BullMQ. */
export function connectionOf(redisUrl: string): {
  host: string
  port: number
  maxRetriesPerRequest: null
} {
  const { hostname, port } = new URL(redisUrl)
  return { host: hostname, port: Number(port), maxRetriesPerRequest: null }
}

async function readRows(path: string): Promise<string[][]> {
  const rows: string[][] = []
  const parser = createReadStream(path, 'utf8').pipe(Papa.parse(Papa.NODE_STREAM_INPUT, {}))
  for await (const row of parser) rows.push(row)
  return rows.slice(1)
}

async function writeRows(
  path: string,
  rows: readonly (readonly string[])[],
  results: readonly (ResultOf<'email'> | undefined)[],
): Promise<void> {
  const file = createWriteStream(path)
  let text = ''
  for (const [at, row] of rows.entries()) {
    text += `${Papa.unparse([[...row, ...Object.values(results[at] ?? {})]])}\n`
    if (text.length > 1_000_000) {
      if (!file.write(text)) await once(file, 'drain')
      text = ''
    }
  }
  file.end(text)
  await once(file, 'close')
}
