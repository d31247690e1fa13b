import { expect, test } from 'vitest'
import { closeTogether } from './close-together.ts'

test('all begin to close at once, and all are closed although one fails', async () => {
  const open = Promise.withResolvers<void>()
  const begun: string[] = []
  const ended: string[] = []
  const closable = (name: string, fault?: Error): AsyncDisposable => ({
    async [Symbol.asyncDispose]() {
      begun.push(name)
      if (fault !== undefined) throw fault
      await open.promise
      ended.push(name)
    },
  })
  const fault = new Error('cannot be closed')
  const closing = closeTogether([closable('first'), closable('second', fault), closable('third')])
  const outcome = closing.catch((error: unknown) => error)
  expect(begun).toEqual(['first', 'second', 'third'])
  open.resolve()
  expect(await outcome).toBe(fault)
  expect(ended).toEqual(['first', 'third'])
})
