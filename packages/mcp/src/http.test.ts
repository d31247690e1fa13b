import type { Client } from '@plumbline/client/client'
import { expect, test, vi } from 'vitest'
import { answerMessage, type HttpResponse } from './http.ts'
import { loadSdk } from './sdk.ts'

/** A client whose lookups end only when their caller gives up. */
function silentClient(asked: () => void): Client {
  const lookUp: Client['lookUp'] = async (_product, _request, { signal } = {}) => {
    asked()
    return await new Promise((_, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  }
  // Safe because the tool of the test calls nothing else.
  return { lookUp } as unknown as Client
}

/** Answers a call of a tool. */
async function answer(
  asked: () => void,
  onError: (error: unknown) => void,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const sdk = await loadSdk()
  if (sdk === undefined) throw new Error('the SDK is not installed')
  return await answerMessage(
    sdk,
    { client: silentClient(asked), onError },
    {
      headers: new Headers({
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      }),
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'lookup_ip', arguments: { ip: '8.8.8.8' } },
      },
      signal,
    },
  )
}

test('a message ends when its sender has gone, though its tool has no result', async () => {
  const asked = Promise.withResolvers<void>()
  const gone = new AbortController()
  const errors: unknown[] = []
  const answering = answer(asked.resolve, (error) => errors.push(error), gone.signal)
  await asked.promise
  gone.abort()
  await expect(answering).rejects.toBe(gone.signal.reason)
  expect(errors).toEqual([])
})

test('a message whose sender had gone before calls no tool', async () => {
  const gone = AbortSignal.abort()
  const asked = vi.fn<() => void>()
  await expect(answer(asked, asked, gone)).rejects.toBe(gone.reason)
  expect(asked).not.toHaveBeenCalled()
})
