import { spawnSync } from 'node:child_process'
import { NO_TRACER } from '@plumbline/ports/tracer'
import { startOtlpReceiver, type OtlpReceiver } from '@plumbline/testkit/otlp-receiver'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { createMetrics } from './metrics.ts'
import { readSettings } from './settings.ts'
import type { Tracing } from './traced-program.ts'
import { openTracing } from './tracing.ts'
import { tracingSettings } from './tracing-settings.ts'

const MARK = 'qzmark'
const schema = z.object(tracingSettings)

let receiver: OtlpReceiver

beforeEach(async () => {
  receiver = await startOtlpReceiver()
})

afterEach(async () => {
  await receiver[Symbol.asyncDispose]()
})

async function open(environment: Readonly<Record<string, string>>): Promise<{
  readonly tracing: Tracing
  readonly metrics: ReturnType<typeof createMetrics>
  readonly warned: string[]
}> {
  const warned: string[] = []
  const ignore = (): void => undefined
  const log = {
    debug: ignore,
    info: ignore,
    error: ignore,
    warn: (_: object, message: string) => void warned.push(message),
  }
  const metrics = createMetrics()
  const program = { program: 'test', instance: 'host:1-abc', registry: metrics.registry, log }
  return { tracing: await openTracing(readSettings(schema, environment), program), metrics, warned }
}

test('spans of two processes are one trace, and headers are sent with the export', async () => {
  const { tracing } = await open({
    OTEL_EXPORTER_OTLP_ENDPOINT: `${receiver.url}/base/`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-first=one%20word, x-second=2',
  })
  const { tracer } = tracing
  let told: string | undefined
  await tracer.span({ name: 'call', kind: 'server' }, async (note) => {
    await tracer.span({ name: 'ask', kind: 'client', facts: { check: 'ip' } }, async () => {
      told = tracer.current()
    })
    note({ status: 200 })
  })
  expect(told).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
  expect(tracer.current()).toBeUndefined()
  await tracer.within(told, () => tracer.span({ name: 'answer', kind: 'consumer' }, async () => {}))
  await tracer.within(MARK, () => tracer.span({ name: 'other', kind: 'server' }, async () => {}))
  await tracer.span({ name: 'by itself', kind: 'internal' }, async () => {})
  await tracing[Symbol.asyncDispose]()

  const spans = receiver.spans()
  const at = (name: string) => spans.find((span) => span.name === name)
  expect(spans.map(({ name }) => name).toSorted()).toEqual(['answer', 'ask', 'call', 'other'])
  expect(at('call')).toMatchObject({ service: 'plumbline-test', parentSpanId: '' })
  expect(at('call')?.facts).toEqual({ status: 200 })
  expect(at('ask')).toMatchObject({ parentSpanId: at('call')?.spanId, facts: { check: 'ip' } })
  expect(at('answer')).toMatchObject({ parentSpanId: at('ask')?.spanId })
  expect(at('answer')?.traceId).toBe(at('call')?.traceId)
  expect(at('other')?.traceId).not.toBe(at('call')?.traceId)
  const [first = ''] = receiver.texts()
  expect(first).toMatch(/^\/base\/v1\/(?:traces|metrics) .*"x-first":"one word".*"x-second":"2"/)
  const name = '"key":"service.instance.id","value":{"stringValue":"host:1-abc"}'
  for (const text of receiver.texts()) expect(text).toContain(name)
  expect(receiver.texts().join('\n')).not.toContain(MARK)
})

test('an error is recorded by its class or code, never by its message', async () => {
  const { tracing } = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
  const refusal = Object.assign(new Error(MARK), { code: 'payment_required', status: 402 })
  for (const error of [
    new RangeError(MARK),
    refusal,
    Object.assign(new Error(MARK), { code: `${MARK} !` }),
  ]) {
    const failing = tracing.tracer.span({ name: 'call', kind: 'server' }, () =>
      Promise.reject(error),
    )
    await expect(failing).rejects.toBe(error)
  }
  await tracing[Symbol.asyncDispose]()
  const types = receiver.spans().map(({ facts }) => facts['error.type'])
  expect(types).toEqual(['RangeError', 'payment_required', 'Error'])
  expect(receiver.texts().join('\n')).not.toContain(MARK)
})

test('the exported metrics equal those of /metrics, with histogram buckets that are not cumulative', async () => {
  const { tracing, metrics } = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
  metrics.counter('calls_total', 'Calls.', ['route']).inc({ route: '/v1/ip' }, 3)
  metrics.observed('jobs', 'Jobs.', [], async () => [{ labels: {}, value: 7 }])
  metrics.observed('away', 'Away.', [], () => Promise.reject(new Error('away')))
  const seconds = metrics.histogram('seconds', 'Time.', ['check'], [1, 5])
  for (const value of [0.5, 2, 3, 60]) seconds.observe({ check: 'ip' }, value)
  await tracing[Symbol.asyncDispose]()
  const text = receiver.texts().find((each) => each.startsWith('/v1/metrics')) ?? ''
  expect(text).toContain('"name":"calls_total"')
  expect(text).toMatch(/"name":"jobs".{0,400}"asDouble":7\b/)
  expect(text).toMatch(/"name":"seconds".{0,600}"bucketCounts":\[1,2,1\],"explicitBounds":\[1,5\]/)
  expect(text).toMatch(/"count":4,"sum":65\.5/)
})

test('a value that is no number is not sent, and the others are', async () => {
  const { tracing, metrics } = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
  metrics.observed('ages', 'Ages.', ['of'], async () => [
    { labels: { of: 'nothing' }, value: Infinity },
    { labels: { of: 'mean' }, value: NaN },
    { labels: { of: 'something' }, value: 7 },
  ])
  await tracing[Symbol.asyncDispose]()
  const text = receiver.texts().find((each) => each.startsWith('/v1/metrics')) ?? ''
  expect(text).toMatch(/"name":"ages".*"something".*"asDouble":7/)
  expect(text).not.toContain('null')
})

test("with a share of 0 no trace is sent, whatever the caller's header says", async () => {
  const { tracing } = await open({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_TRACES_SAMPLER_ARG: '0',
  })
  const sampled = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  await tracing.tracer.within(sampled, () =>
    tracing.tracer.span({ name: 'call', kind: 'server' }, async () => {
      await tracing.tracer.span({ name: 'within', kind: 'internal' }, async () => {})
    }),
  )
  await tracing[Symbol.asyncDispose]()
  expect(receiver.spans()).toEqual([])
})

test('an unreachable receiver fails no work, does not delay the end of the program, and is logged once', async () => {
  await using gone = await startOtlpReceiver()
  const { url } = gone
  await gone[Symbol.asyncDispose]()
  const { tracing, warned } = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: url })
  const work = tracing.tracer.span({ name: 'call', kind: 'server' }, async () => 'done')
  expect(await work).toBe('done')
  await tracing[Symbol.asyncDispose]()
  expect(new Set(warned).size).toBeLessThanOrEqual(1)
})

test('without an endpoint nothing is traced and no package is loaded', async () => {
  const { tracing } = await open({})
  expect(tracing.tracer).toBe(NO_TRACER)
  const code = `
    import { registerHooks } from 'node:module'
    const asked = []
    registerHooks({ resolve: (name, at, next) => (asked.push(name), next(name, at)) })
    const { openTracing } = await import(${JSON.stringify(import.meta.resolve('./tracing.ts'))})
    const { telemetryOf } = await import(${JSON.stringify(import.meta.resolve('@plumbline/queue/telemetry'))})
    const { tracer } = await openTracing({ OTEL_TRACES_SAMPLER_ARG: 1 }, {})
    await telemetryOf(tracer)
    console.log(JSON.stringify(asked))`
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', code]
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect(stderr).toBe('')
  // Safe because the line above wrote it.
  const asked = JSON.parse(stdout) as readonly string[]
  expect(asked.length).toBeGreaterThan(1)
  expect(asked.filter((name) => /opentelemetry|otel/.test(name))).toEqual([])
})

test('if the packages are not installed, a start with an endpoint ends and names the packages', () => {
  // Each package is resolved under a name that does not exist, so that Node throws its real error.
  const code = `
    import { registerHooks } from 'node:module'
    registerHooks({
      resolve: (name, at, next) =>
        next(name.startsWith('@opentelemetry/') ? name.replace('@', '@not-installed-') : name, at),
    })
    const { openTracing } = await import(${JSON.stringify(import.meta.resolve('./tracing.ts'))})
    const { startOrExit } = await import(${JSON.stringify(import.meta.resolve('./start.ts'))})
    const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_TRACES_SAMPLER_ARG: 1 }
    await startOrExit('The API', () => openTracing(settings, {}))
    console.log('started')`
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', code]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toMatch(
    /^The API cannot start: OTEL_EXPORTER_OTLP_ENDPOINT is set, and OpenTelemetry is not installed here: run "npm install" in the folder of the service without --omit=optional/,
  )
})

test.each([
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
    /OTEL_EXPORTER_OTLP_ENDPOINT: expected an http/,
  ],
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'no value' }, /OTEL_EXPORTER_OTLP_HEADERS: expected name=value/],
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=%E0%A4%A' }, /OTEL_EXPORTER_OTLP_HEADERS: expected name=value/],
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=b\r\nc' }, /OTEL_EXPORTER_OTLP_HEADERS: expected name=value/],
  [{ OTEL_TRACES_SAMPLER_ARG: '2' }, /OTEL_TRACES_SAMPLER_ARG: expected a number from 0 to 1/],
])('%j is refused, and a header is not shown', (environment, message) => {
  expect(() => readSettings(schema, environment)).toThrow(message)
  expect(() => readSettings(schema, environment)).not.toThrow(/no value|%E0|b\r/)
})
