import { table } from '@plumbline/cli/table'
import { parseOrExit } from '../parse-or-exit.ts'
import type { Figure } from './figure.ts'

// npm run bench -- NAME... [--json] [--scale 0.1]: runs benchmarks one after the other, each with
// its baseline in the same run, and prints their figures. Without a name it runs them all. `--scale`
// reduces the size of those that have a full size.

type Benchmark = () => Promise<{ run(scale: number): Promise<readonly Figure[]> }>

const ipPhone: Benchmark = () => import('./ip-phone.ts')
const ipBatch: Benchmark = () => import('./ip-batch.ts')

const storedBatches: Benchmark = () => import('./stored-batches.ts')
const dueTogether: Benchmark = () => import('./due-together.ts')
const waitingBatches: Benchmark = () => import('./waiting-batches.ts')

const BENCHMARKS: Readonly<Record<string, readonly Benchmark[]>> = {
  pipeline: [() => import('./pipeline.ts')],
  dispatch: [() => import('./dispatch.ts'), dueTogether],
  'due-together': [dueTogether],
  fleet: [() => import('./fleet.ts')],
  ageing: [() => import('./ageing.ts'), storedBatches],
  'stored-batches': [storedBatches],
  cancel: [() => import('./cancel.ts')],
  'long-files': [() => import('./long-files.ts')],
  idle: [() => import('./idle.ts'), waitingBatches],
  'waiting-batches': [waitingBatches],
  memory: [() => import('./memory.ts')],
  live: [() => import('./live.ts')],
  neighbours: [() => import('./neighbours.ts')],
  'slow-calls': [() => import('./slow-calls.ts')],
  mixed: [() => import('./mixed.ts')],
  metering: [() => import('./metering.ts')],
  hostile: [() => import('./hostile.ts')],
  email: [() => import('./email.ts')],
  ip: [ipPhone, ipBatch],
  phone: [ipPhone],
  'ip-batch': [ipBatch],
  domain: [() => import('./domain.ts')],
  'user-enumeration': [() => import('./user-enumeration.ts')],
  webhooks: [() => import('./webhooks.ts')],
  erase: [() => import('./erase.ts')],
  preview: [() => import('./preview.ts')],
  eta: [() => import('./eta.ts')],
  workbook: [() => import('./workbook-reading.ts'), () => import('./workbook-writing.ts')],
}

const HEADINGS = ['', 'what', 'on', 'figure', 'baseline', 'ratio', 'target', 'unit']

const USAGE = 'bench: [NAME ...] [--json] [--scale 0.1]'

const { values, positionals } = parseOrExit(
  {
    options: { json: { type: 'boolean', default: false }, scale: { type: 'string', default: '1' } },
    allowPositionals: true,
  },
  USAGE,
)
const names = positionals.length === 0 ? Object.keys(BENCHMARKS) : positionals
const unknown = names.find((name) => BENCHMARKS[name] === undefined)
if (unknown !== undefined) {
  console.error(`no benchmark "${unknown}"; there are ${Object.keys(BENCHMARKS).join(', ')}`)
  process.exit(2)
}

const scale = Number(values.scale)
if (!(scale > 0 && scale <= 1)) {
  console.error(`--scale is above 0 and at most 1, not "${values.scale}"`)
  process.exit(2)
}

const figures: Figure[] = []
// Two names of one benchmark run it once.
for (const load of new Set(names.flatMap((name) => BENCHMARKS[name] ?? []))) {
  const benchmark = await load()
  figures.push(...(await benchmark.run(scale)))
}
if (values.json) console.log(JSON.stringify(figures))
else process.stdout.write(table(HEADINGS, figures.map(cellsOf)))
process.exit(figures.every(({ pass }) => pass) ? 0 : 1)

function cellsOf(figure: Figure): readonly string[] {
  const { name, backend, unit, baseline, ratio, target, pass } = figure
  const counts = [figure.figure, baseline, ratio, target].map((count) => count?.toString() ?? '-')
  return [pass ? 'ok' : 'failed', name, backend, ...counts, unit]
}
