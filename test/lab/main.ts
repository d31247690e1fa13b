import { parseArgs } from 'node:util'
import { runScenario } from './run-scenario.ts'
import { scenariosOf } from './scenarios.ts'
import { mayMount } from './small-disk.ts'
import { isWell, rowOf, TABLE_HEAD } from './table.ts'

// npm run lab -- [--only NAME] [--queue redis] [--scale 0.1] [--times N] [--away SECONDS]: real
// processes under load while something breaks, each scenario N times on both backends. Prints a table as Markdown, and
// ends with 1 where a charge is wrong, a record is lost, a recovery takes longer than it may, or a
// scenario saw what should not be. Needs Debian's postgresql and redis-server.

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    queue: { type: 'string' },
    scale: { type: 'string', default: '1' },
    times: { type: 'string', default: '1' },
    away: { type: 'string', default: '60' },
  },
})
const scale = Number(values.scale)
const times = Number(values.times)
const away = Number(values.away)
if (!(scale > 0 && scale <= 10)) refuse('--scale is a number above 0 and up to 10')
if (!Number.isSafeInteger(times) || times < 1) refuse('--times is a whole number from 1 on')
if (!(away > 0)) refuse('--away is a number of seconds above 0')
const backends = (['redis', 'embedded'] as const).filter(
  (backend) => values.queue === undefined || values.queue === backend,
)
if (backends.length === 0) refuse('--queue is redis or embedded')
const scenarios = scenariosOf(away * 1_000)
const names = values.only === undefined ? Object.keys(scenarios) : [values.only]
const size = {
  accounts: Math.ceil(10_000 * scale),
  batches: Math.ceil(1_000 * scale),
  million: Math.ceil(1_000_000 * scale),
}

// The servers end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
for (const line of TABLE_HEAD) console.log(line)
let isAllWell = true
for (const name of names) {
  const scenario = scenarios[name]
  if (scenario === undefined) {
    refuse(`no scenario "${name}"; there are ${Object.keys(scenarios).join(', ')}`)
  }
  if (scenario.diskBytes !== undefined && !mayMount()) {
    console.error(`lab: ${name} LEFT OUT: it mounts a small disk, for which it must run as root`)
    continue
  }
  for (const backend of backends) {
    if (scenario.needsRedis === true && backend !== 'redis') continue
    const runs = await runScenario(scenario, backend, size, times)
    console.log(rowOf(scenario.what, backend, runs))
    for (const { refusals, wrongCharges, own } of runs) {
      const lines = [...refusals, ...wrongCharges, ...own.seen, ...own.wrong]
      for (const line of lines) console.error(`${name}: ${line}`)
    }
    isAllWell &&= isWell(runs)
  }
}
process.exit(isAllWell ? 0 : 1)

function refuse(why: string): never {
  console.error(`lab: ${why}`)
  process.exit(2)
}
