import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { oneBackend } from '@plumbline/testkit/one-backend'
import {
  formOf,
  readCells,
  readLines,
  submitBatch,
  untilBatch,
  call,
} from '@plumbline/testkit/batches'
import { outcomeFor } from '@plumbline/testkit/instant-engines'
import { PATIENT } from '@plumbline/testkit/patience'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService } from '@plumbline/testkit/service'

// An operator changes the weights while a batch runs.

const ADDRESSES = Array.from({ length: 40 }, (_, no) => `203.0.113.${no}`)
const HIDDEN = ADDRESSES.find((ip) => outcomeFor('ip', ip).facts.isVpn === true) ?? ''
const LIST = `email,ip,domain\n${ADDRESSES.map((ip) => `bob@example.com,${ip},example.com\n`).join('')}`

/** Writes a weights file, always under the same name, as an operator may do by mistake. */
async function writeWeights(path: string, vpn: number, noDmarc: number): Promise<void> {
  const groups = { 'ip.anonymity': { vpn }, 'domain.dns': { no_dmarc: noDmarc } }
  await writeFile(path, JSON.stringify({ version: 'acme', groups }))
}

/** The score, threat and safety of a row, from its cells or its JSON. */
type Scores = readonly [fraud: number, threat: number, safety: number]

function scoresOfCells([names = [], ...rows]: readonly (readonly string[])[]): readonly Scores[] {
  const cell = (row: readonly string[], name: string): number =>
    Number(row[names.indexOf(`result.${name}`)])
  return rows.map((row) => [
    cell(row, 'fraud_score'),
    cell(row, 'ip.threat_score'),
    cell(row, 'domain.safety_score'),
  ])
}

function scoresOf(result: unknown): Scores {
  // Safe because a test compares what it reads with what it must be.
  const { fraud_score, ip, domain } = result as {
    fraud_score: number
    ip: { threat_score: number }
    domain: { safety_score: number }
  }
  return [fraud_score, ip.threat_score, domain.safety_score]
}

describe.each(oneBackend('redis'))('on $name', ({ redisUrl }) => {
  test(
    'a batch is scored by the weights that it started with, a call by the current ones',
    PATIENT,
    async () => {
      await using stack = new AsyncDisposableStack()
      const dir = stack.use(await mkdtempDisposable(join(tmpdir(), 'plumbline-weights-'))).path
      const path = join(dir, 'weights.json')
      await writeWeights(path, 80, 20)
      const database = stack.use(await createTestDatabase())
      const service = stack.use(
        await startService({
          databaseUrl: database.url,
          redisUrl,
          workers: [['email', 'ip', 'domain', 'batch']],
          env: { SCORE_WEIGHTS_FILE: path, CHUNK_RECORDS: '10' },
        }),
      )
      const account = await service.account({ credits: 1_000 })
      const caller = { service, account, key: account.liveKey }
      const fields = { product: 'fraud-signals', start: 'false', explain: 'true' }
      const { id } = await submitBatch(caller, formOf(fields, LIST))
      expect((await untilBatch(caller, id, ['ready'])).weights).toBeNull()
      // It starts; every process that processes it later has other weights.
      const [worker] = service.workers
      await worker?.kill('SIGTERM')
      expect((await call(caller, 'POST', `/v1/batches/${id}/start`)).status).toBe(200)
      await writeWeights(path, 10, 1)
      await service.api.kill('SIGTERM')
      await service.api.restart()
      await worker?.restart()
      const batch = await untilBatch(caller, id)
      expect(batch).toMatchObject({ status: 'completed', verdicts: { medium: 0 } })
      expect(batch.verdicts['high']).toBeGreaterThan(0)

      const scores = scoresOfCells(await readCells(caller, id))
      const hidden: Scores = [84, 80, 80]
      const open: Scores = [20, 0, 80]
      expect(scores[ADDRESSES.indexOf(HIDDEN)]).toEqual(hidden)
      expect(new Set(scores.map(String))).toEqual(new Set([String(hidden), String(open)]))
      expect(scoresOfCells(await readCells(caller, id, '&raw=1'))).toEqual(scores)
      const high = scoresOfCells(await readCells(caller, id, '&only=high'))
      expect(high).toHaveLength(batch.verdicts['high'] ?? 0)
      expect(new Set(high.map(String))).toEqual(new Set([String(hidden)]))
      const lines = await readLines(caller, id)
      expect(lines.map(({ result }) => scoresOf(result))).toEqual(scores)
      expect(lines.map(({ result }) => result?.['explain'])).toEqual(
        lines.map(() =>
          expect.objectContaining({
            fraud_score: expect.objectContaining({ model_version: batch.weights }),
          }),
        ),
      )
      const rest = await readLines(caller, id, '&after=25')
      expect(rest.map(({ result }) => scoresOf(result))).toEqual(scores.slice(25))
      const listed = await call(caller, 'GET', '/v1/batches')
      expect(await listed.json()).toMatchObject({ data: [{ id, weights: batch.weights }] })

      const asked = { email: 'bob@example.com', ip: HIDDEN, domain: 'example.com' }
      const single = await call(caller, 'POST', '/v1/fraud-signals', asked)
      expect(scoresOf(await single.json())).toEqual([11, 10, 99])
      const { rows } = await service.db.pool.query<{ version: string }>(
        'select version from score_weights',
      )
      expect(rows.map(({ version }) => version)).toContain(batch.weights)
      expect(rows).toHaveLength(2)
    },
  )
})
