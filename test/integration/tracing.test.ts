import { runBatch } from '@plumbline/testkit/batches'
import { backends } from '@plumbline/testkit/backends'
import { findMarks } from '@plumbline/testkit/marks'
import { startOtlpReceiver, type ReceivedSpan } from '@plumbline/testkit/otlp-receiver'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService } from '@plumbline/testkit/service'
import { describe, expect, test } from 'vitest'

const WORD = 'qzmark'
const EMAIL = `user481516234@${WORD}.example`
const PHONE = '+41794816234'
const IP = '93.184.48.15'
const DOMAIN = `${WORD}.example`
const POISON = `poison-${WORD}@${DOMAIN}`

describe.each(backends())('on $name', ({ redisUrl }) => {
  test('a call and a chunk of a batch each have one complete trace, without a subject', async () => {
    await using receiver = await startOtlpReceiver()
    await using database = await createTestDatabase()
    const traceId = 'f1e2d3c4b5a697887766554433221100'
    let batchId = ''
    let key = ''
    {
      await using service = await startService({
        databaseUrl: database.url,
        redisUrl,
        workers: [['email', 'phone', 'ip', 'domain', 'batch', `--poison=poison-${WORD}`]],
        env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
      })
      const account = await service.account({ credits: 1_000 })
      key = account.liveKey
      const values = { email: EMAIL, phone: PHONE, ip: IP, domain: DOMAIN }
      const call = async (path: string, body: unknown): Promise<number> => {
        const response = await fetch(new URL(path, service.url), {
          method: 'POST',
          headers: {
            authorization: `Bearer ${key}`,
            'content-type': 'application/json',
            'idempotency-key': `${WORD}-${Math.random()}`,
            traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
            tracestate: `${WORD}=1`,
            baggage: `subject=${WORD}`,
          },
          body: JSON.stringify(body),
        })
        return response.status
      }
      expect(await call('/v1/contact-intel', values)).toBe(200)
      expect(await call('/v1/email', { email: POISON })).toBe(500)
      expect(await call('/v1/email', { [WORD]: EMAIL })).toBe(400)
      expect(await call(`/v1/${WORD}`, values)).toBe(404)
      const records = [values, { ...values, email: POISON }]
      const caller = { service, account, key }
      batchId = (await runBatch(caller, { product: 'contact-intel', name: WORD, records })).id
      // Closing the service sends its remaining spans.
    }

    const spans = receiver.spans()
    const find = (name: string | RegExp, facts: object = {}): readonly ReceivedSpan[] =>
      spans.filter(
        (span) =>
          (typeof name === 'string' ? span.name === name : name.test(span.name)) &&
          Object.entries(facts).every(([fact, value]) => span.facts[fact] === value),
      )
    const [call] = find('POST /v1/contact-intel')
    expect(call).toMatchObject({
      service: 'plumbline-api',
      traceId,
      parentSpanId: '00f067aa0ba902b7',
    })
    expect(find('debit', { product: 'contact-intel' })[0]?.parentSpanId).toBe(call?.spanId)
    for (const check of ['email', 'phone', 'ip', 'domain']) {
      const [ask] = find(`ask ${check}`).filter(({ parentSpanId }) => parentSpanId === call?.spanId)
      const answer = find(`answer ${check}`).find(
        ({ parentSpanId }) => parentSpanId === ask?.spanId,
      )
      expect(answer).toMatchObject({ service: 'plumbline-worker', traceId })
      expect(pathUp(spans, `engine ${check}`, traceId)).toContain(answer?.name)
    }
    expect(find('POST /v1/email', { 'error.type': 'internal' })).toHaveLength(1)

    // The parent of each task is its job, and the parent of that is the adding of the job.
    const tasks = find(/^task /, { batch: batchId })
    expect(new Set(tasks.map(({ name }) => name))).toEqual(
      new Set(['task email', 'task phone', 'task ip', 'task domain']),
    )
    for (const task of tasks) {
      const path = pathUp(spans, task.name, task.traceId)
      expect(path.join(' < ')).toMatch(
        /^task (\w+) < process bulk-\1 < add(?:Bulk)? bulk-\1(?:\.bulk-\1)?$/,
      )
    }
    const [phones] = find('task phone', { batch: batchId })
    const below = spans.filter(({ parentSpanId }) => parentSpanId === phones?.spanId)
    expect(below.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['engine phone', 'store outcomes']),
    )

    expect([...receiver.metricsOf('plumbline-api')]).toContain('http_requests_total')
    expect([...receiver.metricsOf('plumbline-worker')]).toContain('outcomes_total')
    const marks = findMarks(
      [WORD, 'user481516234', PHONE.slice(1, -1), IP, key.slice('svc_live_'.length)],
      [EMAIL, PHONE, IP, DOMAIN, POISON],
    )
    expect(receiver.texts().flatMap((text) => marks('received', text))).toEqual([])
    // The search finds what must be there.
    const ids = findMarks([batchId], [])
    expect(receiver.texts().flatMap((text) => ids('received', text))).not.toEqual([])
  })
})

/** Names of a span and its ancestors, the span first. */
function pathUp(spans: readonly ReceivedSpan[], name: string, traceId: string): readonly string[] {
  const path: string[] = []
  let at = spans.find((span) => span.name === name && span.traceId === traceId)
  for (; at !== undefined && path.length < 20; at = parentOf(spans, at)) path.push(at.name)
  return path
}

function parentOf(
  spans: readonly ReceivedSpan[],
  { traceId, parentSpanId }: ReceivedSpan,
): ReceivedSpan | undefined {
  return spans.find((span) => span.traceId === traceId && span.spanId === parentSpanId)
}
