import { appendFileSync } from 'node:fs'
import type { World } from './world-state.ts'

/** Writes an event to the world's trace, with the virtual time. */
export function note({ servers, time, begunMs }: World, event: object): void {
  const line = JSON.stringify({ ms: Math.round(time.nowMs() - begunMs), ...event })
  appendFileSync(servers.tracePath, `${line}\n`)
}
