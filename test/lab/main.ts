import { parseArgs } from 'node:util'
import { runScenario, type Seen } from './run-scenario.ts'
import { SCENARIOS } from './scenarios.ts'
import { mayMount } from './small-disk.ts'

// npm run lab -- [--only NAME] [--scale 0.1]: real processes under load while something breaks,
// each scenario on both backends. Prints a table as Markdown, and ends with 1 where a charge is
// wrong, a record is lost, or a recovery takes longer than it may. Needs Debian's postgresql and
// redis-server.

/**
 * Longest time from the end of a fault until calls are answered and records are settled again, in
 * milliseconds.
 */
const RECOVER_MS = 20_000

const { values } = parseArgs({
  options: { only: { type: 'string' }, scale: { type: 'string', default: '1' } },
})
const scale = Number(values.scale)
if (!(scale > 0 && scale <= 10)) {
  console.error(`lab: --scale is a number above 0 and up to 10, not "${values.scale}"`)
  process.exit(2)
}
const names = values.only === undefined ? Object.keys(SCENARIOS) : [values.only]
const size = {
  accounts: Math.ceil(10_000 * scale),
  batches: Math.ceil(1_000 * scale),
  million: Math.ceil(1_000_000 * scale),
}

// The servers end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
console.log(
  '| what breaks | queue | lasted | recovered | p99 of calls | refused | dead rows | connections | wrong | lost |',
)
console.log('|---|---|---|---|---|---|---|---|---|---|')
let isWell = true
for (const name of names) {
  const scenario = SCENARIOS[name]
  if (scenario === undefined) {
    console.error(`lab: no scenario "${name}"; there are ${Object.keys(SCENARIOS).join(', ')}`)
    process.exit(2)
  }
  if (scenario.diskBytes !== undefined && !mayMount()) {
    console.error(`lab: ${name} LEFT OUT: it mounts a small disk, for which it must run as root`)
    continue
  }
  for (const backend of ['redis', 'embedded'] as const) {
    if (scenario.needsRedis === true && backend !== 'redis') continue
    const seen = await runScenario(scenario, backend, size)
    console.log(`| ${[scenario.what, backend, ...cellsOf(seen)].join(' | ')} |`)
    for (const line of [...seen.refusals, ...seen.wrongCharges]) console.error(`${name}: ${line}`)
    isWell &&=
      seen.recoverMs <= RECOVER_MS && seen.wrongCharges.length === 0 && seen.lostRecords === 0
  }
}
process.exit(isWell ? 0 : 1)

function cellsOf(seen: Seen): readonly string[] {
  return [
    `${(seen.lastedMs / 1_000).toFixed(1)} s`,
    Number.isFinite(seen.recoverMs) ? `${(seen.recoverMs / 1_000).toFixed(1)} s` : 'never',
    `${Math.round(seen.callsP99Ms)} ms`,
    String(seen.refused),
    String(seen.deadRows),
    String(seen.connections),
    String(seen.wrongCharges.length),
    String(seen.lostRecords),
  ]
}
