import { parseOrExit } from '../parse-or-exit.ts'
import { runScenario } from './run-scenario.ts'
import { scenariosOf } from './scenarios.ts'
import { mayMount } from './small-disk.ts'
import { passes, rowOf, TABLE_HEAD } from './table.ts'

// npm run lab -- [--only NAME] [--queue redis] [--scale 0.1] [--times N] [--away SECONDS]: runs real
// processes under load and injects a fault, each scenario N times on both queue backends. Prints a table
// in Markdown, and exits with 1 if a charge is wrong, a record is lost, a recovery exceeds its limit, or a
// scenario reports a violation of its own. Needs Debian's postgresql and redis-server.

const USAGE =
  'lab: [--only NAME] [--queue redis or embedded] [--scale 0.1] [--times N] [--away SECONDS]'

const { values } = parseOrExit(
  {
    options: {
      only: { type: 'string' },
      queue: { type: 'string' },
      scale: { type: 'string', default: '1' },
      times: { type: 'string', default: '1' },
      away: { type: 'string', default: '60' },
    },
  },
  USAGE,
)
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
let hasPassed = true
for (const name of names) {
  const scenario = scenarios[name]
  if (scenario === undefined) {
    refuse(`no scenario "${name}"; there are ${Object.keys(scenarios).join(', ')}`)
  }
  if (scenario.diskBytes !== undefined && !mayMount()) {
    console.error(`lab: ${name} SKIPPED: it mounts a small disk, which only root may do`)
    continue
  }
  for (const backend of backends) {
    if (scenario.needsRedis === true && backend !== 'redis') continue
    const runs = await runScenario(scenario, backend, size, times)
    console.log(rowOf(scenario.what, backend, runs))
    for (const { refusals, wrongCharges, own } of runs) {
      const lines = [...refusals, ...wrongCharges, ...own.notes, ...own.violations]
      for (const line of lines) console.error(`${name}: ${line}`)
    }
    hasPassed &&= passes(runs)
  }
}
process.exit(hasPassed ? 0 : 1)

function refuse(why: string): never {
  console.error(`lab: ${why}`)
  process.exit(2)
}
