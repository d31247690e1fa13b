import type { Client } from '@plumbline/client/client'
import type { ResultRow } from '@plumbline/client/rows'
import { sleep } from '@plumbline/client/connection'
import { UNFINISHED_STATES } from '@plumbline/contract/batch'
import type { BatchView } from '@plumbline/contract/batch-view'
import { jsonSchemaOf } from '@plumbline/contract/json-schema'
import { MCP_INPUTS, MCP_LIMITS } from '@plumbline/contract/mcp'
import { visibleJson } from './tool-result.ts'
import { readInput, ToolFault, type Tool } from './tool.ts'

/** Polling interval while waiting for a batch, in milliseconds. */
const EVERY_MS = 500

/** The tools about batches and credits. */
export function batchTools(): readonly Tool[] {
  return [estimateBatch(), startBatch(), getBatch(), getResults(), getBalance()]
}

function estimateBatch(): Tool {
  return tool('estimate_batch', 'Estimate a batch', {
    description: `Sends up to ${MCP_LIMITS.records} records as a batch that is not started, and tells what it would cost. Free. Start it with start_batch and its batch_id.`,
    readOnly: false,
    run: async (client, input, signal) => {
      const { product, records, name } = readInput(MCP_INPUTS.estimate_batch, input)
      const named = name === undefined ? {} : { name }
      const asked = { product, records, start: false, ...named }
      const created = await client.batches.create(asked, { signal })
      const batch = await untilChanged(client, created, signal, ['analyzing'])
      const { credits } = await client.account({ signal })
      return { ...summary(batch), available_credits: credits.allowance + credits.packs }
    },
  })
}

function startBatch(): Tool {
  return tool('start_batch', 'Start a batch', {
    description:
      'Starts a batch: one that estimate_batch made, or product and records. Costs credits, at most max_credits; where it may cost more it is not started.',
    readOnly: false,
    run: async (client, input, signal) => {
      const asked = readInput(MCP_INPUTS.start_batch, input)
      const { batch_id: id, product, records, name, max_credits: maxCredits } = asked
      if (id !== undefined) return summary(await startEstimated(client, id, maxCredits, signal))
      if (product === undefined || records === undefined) throw new Error('refused by its shape')
      const named = name === undefined ? {} : { name }
      const batch = { product, records, maxCredits, ...named }
      return summary(await client.batches.create(batch, { signal }))
    },
  })
}

/** Starts a waiting batch, if it costs no more than the given amount. */
async function startEstimated(
  client: Client,
  id: string,
  maxCredits: number,
  signal: AbortSignal,
): Promise<BatchView> {
  const waiting = await client.batches.get(id, { signal })
  if (waiting.status !== 'ready') {
    throw new ToolFault(`The batch is ${waiting.status}; only one that is ready can be started.`)
  }
  const { estimate } = waiting.credits
  if (estimate > maxCredits) {
    throw new ToolFault(
      `The batch may cost ${estimate} credits, more than max_credits of ${maxCredits}; it was not started.`,
    )
  }
  const started = await client.batches.start(id, { signal })
  if (started.credits.held <= maxCredits) return started
  // It was changed by another in between.
  await client.batches.cancel(id)
  throw new ToolFault('The batch was changed while it was started, and is canceled.')
}

function getBatch(): Tool {
  return tool('get_batch', 'Look at a batch', {
    description: 'Tells how far a batch is, its counts and its credits. Free.',
    readOnly: true,
    run: async (client, input, signal) => {
      const { batch_id: id, wait_seconds: seconds } = readInput(MCP_INPUTS.get_batch, input)
      const batch = await client.batches.get(id, { signal })
      if (seconds === 0) return summary(batch)
      const moving = UNFINISHED_STATES.filter((status) => status !== 'ready')
      return summary(await untilChanged(client, batch, signal, moving, seconds))
    },
  })
}

function getResults(): Tool {
  return tool('get_results', 'Read results of a batch', {
    description: `Reads rows of a batch with their results, at most ${MCP_LIMITS.rows} at once; go on with next_after. Works while the batch runs. Free.`,
    readOnly: true,
    run: async (client, input, signal) => {
      const { batch_id: id, only, after, limit } = readInput(MCP_INPUTS.get_results, input)
      const rows: (ResultRow | LongRow)[] = []
      let chars = 0
      let hasMore = false
      const wanted = { after, signal, ...(only === undefined ? {} : { only }) }
      for await (const row of client.batches.rows(id, wanted)) {
        const { length } = visibleJson(row)
        const isLong = length > MCP_LIMITS.resultChars / 2
        chars += isLong ? 0 : length
        hasMore = rows.length === limit || chars > MCP_LIMITS.resultChars / 2
        if (hasMore) break
        // A row is never left out silently, and a reader can always read on.
        rows.push(isLong ? longRow(row, length) : row)
      }
      return { rows, has_more: hasMore, next_after: rows.at(-1)?.row ?? after }
    },
  })
}

/** Stands for a row that is too long for the result of a tool. */
interface LongRow {
  readonly row: number
  readonly status: string
  readonly credits_charged: number
  readonly omitted: string
}

function longRow({ row, status, credits_charged }: ResultRow, length: number): LongRow {
  const omitted = `The row has ${length} characters; download the results to read it.`
  return { row, status, credits_charged, omitted }
}

function getBalance(): Tool {
  return tool('get_balance', 'Look at the credits', {
    description: 'Tells which credits the account has left, and its plan. Free.',
    readOnly: true,
    run: async (client, input, signal) => {
      readInput(MCP_INPUTS.get_balance, input)
      const { plan, credits, spending } = await client.account({ signal })
      return { plan, credits, spending }
    },
  })
}

type ToolName = keyof typeof MCP_INPUTS

function tool(
  name: ToolName,
  title: string,
  rest: Pick<Tool, 'description' | 'readOnly' | 'run'>,
): Tool {
  return { name, title, inputSchema: jsonSchemaOf(MCP_INPUTS[name]), ...rest }
}

/** Waits until a batch is in none of these states any more, or the time is over. */
async function untilChanged(
  client: Client,
  batch: BatchView,
  signal: AbortSignal,
  states: readonly BatchView['status'][],
  seconds: number = MCP_LIMITS.waitSeconds,
): Promise<BatchView> {
  const end = performance.now() + seconds * 1_000
  let seen = batch
  while (states.includes(seen.status) && performance.now() < end) {
    await sleep(Math.min(EVERY_MS, end - performance.now()), signal)
    seen = await client.batches.get(seen.id, { signal })
  }
  return seen
}

/** The fields of a batch that a model needs. */
function summary(batch: BatchView): object {
  const { id, product, name, status, rows, verdicts, credits, progress, eta_seconds, error } = batch
  return {
    batch_id: id,
    product,
    name,
    status,
    rows,
    verdicts,
    credits,
    progress,
    eta_seconds,
    error,
  }
}
