import type { Weights } from '@plumbline/contract/score'
import { closeFinishedBatches, leaseStages } from '@plumbline/db/batches/stages'
import { createScorer } from '@plumbline/scoring/score'
import { overlayWeights } from '@plumbline/scoring/weights'
import Papa from 'papaparse'
import { expect, test } from 'vitest'
import { outcomeFor } from '@plumbline/testkit/instant-engines'
import { openTestPipeline, type TestPipeline } from '@plumbline/testkit/pipeline'
import { runFinish } from './finish.ts'
import { runIntake } from './intake-stage.ts'
import type { Pipeline } from './pipeline.ts'
import { getBatch } from './read.ts'
import { resultsText } from './results-fixture.ts'
import type { ResultsRequest } from './results.ts'
import { openScorers } from './scorers.ts'
import { startBatch } from './start.ts'

const never = new AbortController().signal

function weightsOf(name: string, vpn: number, noDmarc: number): Weights {
  const groups = { 'ip.anonymity': { vpn }, 'domain.dns': { no_dmarc: noDmarc } }
  return overlayWeights(JSON.stringify({ version: name, groups }), 'the test')
}

// Two tables of weights of an operator, under one name, between two starts.
const FIRST = weightsOf('acme', 80, 20)
const SECOND = weightsOf('acme', 10, 1)

/** Addresses of which the instant engine reports some as a VPN. */
const ADDRESSES = Array.from({ length: 40 }, (_, no) => `203.0.113.${no}`)
const HIDDEN = ADDRESSES.filter((ip) => outcomeFor('ip', ip).facts.isVpn === true)
const CONTENT = `email,ip,domain\n${ADDRESSES.map((ip) => `bob@example.com,${ip},example.com\n`).join('')}`

async function withWeights(harness: TestPipeline, weights: Weights): Promise<Pipeline> {
  return {
    ...harness.pipeline,
    scorers: await openScorers(harness.pipeline.db, weights, createScorer),
  }
}

async function resultsOf(
  harness: TestPipeline,
  id: string,
  wanted: Partial<ResultsRequest>,
): Promise<string> {
  return await resultsText(harness, id, { format: 'csv', ...wanted })
}

/** The three scores and the level of every row of a CSV result. */
function scoresIn(csv: string): unknown[] {
  const { data } = Papa.parse<Record<string, string>>(csv, { header: true, skipEmptyLines: true })
  return data.map((row) => ({
    fraud: row['result.fraud_score'],
    level: row['result.risk_level'],
    threat: row['result.ip.threat_score'],
    safety: row['result.domain.safety_score'],
  }))
}

interface JsonLine {
  result: {
    fraud_score: number
    risk_level: string
    ip: { threat_score: number }
    domain: { safety_score: number }
    explain: { fraud_score: { model_version: string } }
  }
}

function jsonLines(text: string): readonly JsonLine['result'][] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as JsonLine).result)
}

function scoresInJson(lines: readonly JsonLine['result'][]): unknown[] {
  return lines.map((result) => ({
    fraud: String(result.fraud_score),
    level: result.risk_level,
    threat: String(result.ip.threat_score),
    safety: String(result.domain.safety_score),
  }))
}

test('every format of a result has the scores by the weights that its batch started with', async () => {
  await using harness = await openTestPipeline({ weights: SECOND, limits: { chunkRecords: 10 } })
  const { id } = await harness.submit(CONTENT, { product: 'fraud-signals', explain: true })
  expect((await getBatch(harness.pipeline, harness.owner, id)).weights).toBeNull()
  // Started by a process with the first weights; checked, counted, written and read with the
  // second.
  await runIntake(await withWeights(harness, FIRST), { batchId: id, lease: 1 }, never)
  await harness.answer()
  const running = await getBatch(harness.pipeline, harness.owner, id)
  expect(running.weights).toBe(FIRST.version)
  expect(running.verdicts).toMatchObject({ high: HIDDEN.length })
  const whileRunning = await resultsOf(harness, id, {})
  await closeFinishedBatches(harness.pipeline.db)
  for (const stage of await leaseStages(harness.pipeline.db, 1_000)) {
    await runFinish(harness.pipeline, stage, never)
  }
  const stored = await resultsOf(harness, id, {})
  expect(stored).toBe(whileRunning)
  const scores = scoresIn(stored)
  expect(HIDDEN.length).toBeGreaterThan(0)
  expect(new Set(scores.map((row) => (row as { safety: string }).safety))).toEqual(new Set(['80']))
  expect(scores.filter((row) => (row as { threat: string }).threat === '80')).toHaveLength(
    HIDDEN.length,
  )
  expect(scoresIn(await resultsOf(harness, id, { raw: true }))).toEqual(scores)
  const high = scoresIn(await resultsOf(harness, id, { only: ['high'] }))
  expect(high).toEqual(scores.filter((row) => (row as { level: string }).level === 'high'))
  expect(high).toHaveLength(HIDDEN.length)
  const lines = jsonLines(await resultsOf(harness, id, { format: 'ndjson' }))
  expect(scoresInJson(lines)).toEqual(scores)
  expect(new Set(lines.map(({ explain }) => explain.fraud_score.model_version))).toEqual(
    new Set([FIRST.version]),
  )
  const rest = jsonLines(await resultsOf(harness, id, { format: 'ndjson', after: 30 }))
  expect(scoresInJson(rest)).toEqual(scores.slice(30))
  const { verdicts, weights } = await getBatch(harness.pipeline, harness.owner, id)
  expect(verdicts).toEqual({ medium: 0, ...countsOf(scores) })
  expect(weights).toBe(FIRST.version)
})

function countsOf(scores: readonly unknown[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const row of scores) {
    const { level } = row as { level: string }
    counts[level] = (counts[level] ?? 0) + 1
  }
  return counts
}

test('a batch that waits is scored by the weights at its start, not those at its upload', async () => {
  await using harness = await openTestPipeline({ weights: FIRST })
  const ready = await harness.read(CONTENT, { product: 'fraud-signals', autoStart: false })
  expect([ready.status, ready.weights]).toEqual(['ready', null])
  const later = await withWeights(harness, SECOND)
  const started = await startBatch(later, harness.owner, ready.id)
  expect(started.weights).toBe(SECOND.version)
})

test('a version that no process ever had is not replaced by another one', async () => {
  await using harness = await openTestPipeline()
  await expect(harness.pipeline.scorers.of('acme+0')).rejects.toThrow('acme+0')
})
