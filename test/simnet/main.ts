import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { countersJson, totalsOf } from './counters.ts'
import { startSimnet } from './simnet.ts'
import type { SimnetOptions } from './simnet.ts'

const USAGE = 'node test/simnet/main.ts [--seed N] [--rtt-ms N] [--bulk-domains N] [--options JSON]'

/**
 * Runs a simulated internet until SIGTERM, SIGINT, or the end of standard input or of the IPC channel
 * to the parent.
 */
async function main(): Promise<void> {
  const simnet = await startSimnet(readOptions(process.argv.slice(2)))
  const loop = monitorEventLoopDelay({ resolution: 10 })
  loop.enable()
  const ended = new Promise<void>((end) => {
    process.once('SIGTERM', () => end())
    process.once('SIGINT', () => end())
    process.once('disconnect', () => end())
    if (process.channel === undefined || process.channel === null)
      process.stdin.resume().once('end', () => end())
  })
  process.on('message', (message) => {
    if (message === 'counters') process.send?.({ counters: countersJson(simnet.counters) })
    if (message === 'eventLoopDelay') process.send?.({ eventLoopDelay: loop.max / 1e6 })
    if (message === 'totals') process.send?.({ totals: totalsOf(simnet.counters) })
    if (message === 'recipients')
      process.send?.({ recipients: [...(simnet.counters.recipients ?? [])] })
  })
  process.stdout.write(`${JSON.stringify(simnet.settings)}\n`)
  await ended
  await simnet[Symbol.asyncDispose]()
  process.exit(0)
}

/** Reads the arguments. @throws for an unknown or malformed one */
function readOptions(args: string[]): SimnetOptions {
  const { values } = parseArgs({
    args,
    options: {
      seed: { type: 'string', default: '1' },
      'rtt-ms': { type: 'string' },
      'bulk-domains': { type: 'string' },
      options: { type: 'string', default: '{}' },
    },
  })
  return {
    seed: whole(values.seed, 'seed'),
    ...(values['rtt-ms'] === undefined ? {} : { rttMs: whole(values['rtt-ms'], 'rtt-ms') }),
    ...(values['bulk-domains'] === undefined
      ? {}
      : { bulkDomains: { count: whole(values['bulk-domains'], 'bulk-domains') } }),
    ...parseObject(values.options),
  }
}

function whole(text: string, name: string): number {
  if (!/^[0-9]{1,9}$/.test(text))
    throw new Error(`--${name} is "${text}", not a whole number. ${USAGE}`)
  return Number(text)
}

/** Safe because callers pass `SimnetOptions` as JSON. */
function parseObject(text: string): SimnetOptions {
  const parsed: unknown = JSON.parse(text)
  if (typeof parsed !== 'object' || parsed === null)
    throw new Error(`--options is not a JSON object. ${USAGE}`)
  return parsed
}

await main()
