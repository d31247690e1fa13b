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
    await vi.advanceTimersByTimeAsync(50)
    await server.watch(Promise.resolve())
    expect(server.isSilent()).toBe(false)
  }
  await vi.advanceTimersByTimeAsync(150)
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
