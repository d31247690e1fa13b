import { appendFileSync } from 'node:fs'
import type { World } from './world-state.ts'

/** Writes what happened, and when in the time of the world, to its trace. */
export function note({ ground, time, begunMs }: World, event: object): void {
  const line = JSON.stringify({ ms: Math.round(time.nowMs() - begunMs), ...event })
  appendFileSync(ground.tracePath, `${line}\n`)
}
