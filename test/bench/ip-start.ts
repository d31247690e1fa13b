import { utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { loadIpData } from '@plumbline/ip/data'
import { loadPhonePrefixes } from '@plumbline/phone/prefixes'
import type { StartMeasurements } from './ip-phone.ts'

// node ip-start.ts LISTS_DIR: loads all IP and phone data, then its lists again, and prints the time
// and memory that this took.

const [listsDir] = process.argv.slice(2)
if (listsDir === undefined) throw new Error('expected a folder of lists')

const startedMs = performance.now()
const [store] = await Promise.all([loadIpData({ listsDir }), loadPhonePrefixes()])
const startMs = performance.now() - startedMs

const now = new Date()
await utimes(join(listsDir, 'relay.bench.txt'), now, now)
const pauses = monitorEventLoopDelay({ resolution: 1 })
pauses.enable()
await store.refresh()
pauses.disable()

const measured: StartMeasurements = {
  startMs,
  rssBytes: process.memoryUsage.rss(),
  pauseMs: pauses.max / 1e6,
}
console.log(JSON.stringify(measured))
