import { expect, test } from 'vitest'
import { createSemaphore } from './semaphore.ts'

test('at most the permitted number runs concurrently, and the others follow in order of arrival', async () => {
  const semaphore = createSemaphore(2)
  const order: number[] = []
  let inside = 0
  let most = 0
  await Promise.all(
    [0, 1, 2, 3, 4].map((index) =>
      semaphore.run(async () => {
        inside += 1
        most = Math.max(most, inside)
        await Promise.resolve()
        order.push(index)
        inside -= 1
      }),
    ),
  )
  expect({ order, most }).toEqual({ order: [0, 1, 2, 3, 4], most: 2 })
})

test('a task that throws releases its permit', async () => {
  const semaphore = createSemaphore(1)
  await expect(semaphore.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  await expect(semaphore.run(() => Promise.resolve('in'))).resolves.toBe('in')
})

test('a permit that is released twice admits one caller', async () => {
  const semaphore = createSemaphore(1)
  const exit = await semaphore.enter()
  exit()
  exit()
  const second = await semaphore.enter()
  let third = false
  void semaphore.enter().then(() => (third = true))
  await Promise.resolve()
  expect(third).toBe(false)
  second()
})

test('a semaphore without a permit is refused', () => {
  expect(() => createSemaphore(0)).toThrow('at least one permit')
})
