import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { createSilenceWatch, SilenceError } from './silence.ts'

afterEach(() => {
  vi.useRealTimers()
})

const FAKED = { toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] } as const
const never = (): Promise<never> => new Promise(() => undefined)

test('a server that replies to no caller is silent, and one that replies to any caller is not', async () => {
  vi.useFakeTimers({ toFake: [...FAKED.toFake] })
  const server = createSilenceWatch(100)
  const slow = Promise.allSettled([server.watch(never())])
  for (let at = 0; at < 10; at += 1) {
    await pass(50)
    await server.watch(Promise.resolve())
    expect(server.isSilent()).toBe(false)
  }
  await pass(150)
  const [{ status, reason }] = (await slow) as [PromiseRejectedResult]
  expect(status).toBe('rejected')
  expect(reason).toBeInstanceOf(SilenceError)
  expect(server.isSilent()).toBe(true)
  await server.watch(Promise.resolve())
  expect(server.isSilent()).toBe(false)
})

test('a server that only refuses is silent after the limit, and a refusal comes at once', async () => {
  vi.useFakeTimers({ toFake: [...FAKED.toFake] })
  const server = createSilenceWatch(100)
  await expect(server.watch(Promise.reject(new Error('refused')))).rejects.toThrow('refused')
  expect(server.isSilent()).toBe(false)
  await vi.advanceTimersByTimeAsync(100)
  expect(server.isSilent()).toBe(true)
})

test('a server that sends bytes is not silent, though no reply is complete', async () => {
  vi.useFakeTimers({ toFake: [...FAKED.toFake] })
  let bytes = 0
  const server = createSilenceWatch(100, () => bytes)
  const slow = Promise.allSettled([server.watch(never())])
  for (; bytes < 10; bytes += 1) await pass(60)
  expect(server.isSilent()).toBe(false)
  await pass(150)
  const [{ reason }] = (await slow) as [PromiseRejectedResult]
  expect(reason).toBeInstanceOf(SilenceError)
})

test('a reply is waited for no longer than its caller allows, and the server that replies to others is not silent', async () => {
  vi.useFakeTimers({ toFake: [...FAKED.toFake] })
  const server = createSilenceWatch(100)
  let refusal: unknown
  server.watch(never(), true, 300).catch((error: unknown) => (refusal = error))
  for (let at = 0; at < 5; at += 1) {
    await pass(50)
    await server.watch(Promise.resolve())
  }
  expect(refusal).toBeUndefined()
  await pass(60)
  expect(refusal).toBeInstanceOf(SilenceError)
  expect(server.isSilent()).toBe(false)
})

test('a process that did not run itself does not take its server for silent', async () => {
  const server = createSilenceWatch(400)
  const { promise, resolve } = Promise.withResolvers<string>()
  const reply = server.watch(promise)
  standStill(600)
  setTimeout(resolve, 50, 'late')
  await expect(reply).resolves.toBe('late')
  expect(server.isSilent()).toBe(false)
})

function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** Lets faked time pass in steps, between which the watch looks for replies. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 5) {
    await vi.advanceTimersByTimeAsync(5)
    for (let at = 0; at < 3; at += 1) await turn()
  }
}
