import { parseArgs } from 'node:util'
import type { Figure } from './figure.ts'

// npm run bench -- NAME... [--json]: runs benchmarks one after the other, each with its baseline in
// the same run, and prints their figures. Without a name it runs them all.

const BENCHMARKS: Readonly<Record<string, () => Promise<{ run(): Promise<readonly Figure[]> }>>> = {
  pipeline: () => import('./pipeline.ts'),
  memory: () => import('./memory.ts'),
  live: () => import('./live.ts'),
  mixed: () => import('./mixed.ts'),
  metering: () => import('./metering.ts'),
  hostile: () => import('./hostile.ts'),
  email: () => import('./email.ts'),
  ip: () => import('./ip-phone.ts'),
  phone: () => import('./ip-phone.ts'),
  'ip-list': () => import('./ip-list.ts'),
  domain: () => import('./domain.ts'),
}

const { values, positionals } = parseArgs({
  options: { json: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const names = positionals.length === 0 ? Object.keys(BENCHMARKS) : positionals
const unknown = names.find((name) => BENCHMARKS[name] === undefined)
if (unknown !== undefined) {
  console.error(`no benchmark "${unknown}"; there are ${Object.keys(BENCHMARKS).join(', ')}`)
  process.exit(2)
}

const benchmarks = await Promise.all(names.map(async (name) => await BENCHMARKS[name]?.()))
const figures: Figure[] = []
// Two names of one benchmark run it once.
for (const benchmark of new Set(benchmarks)) {
  if (benchmark !== undefined) figures.push(...(await benchmark.run()))
}
if (values.json) console.log(JSON.stringify(figures))
else console.table(figures)
process.exit(figures.every(({ pass }) => pass) ? 0 : 1)
