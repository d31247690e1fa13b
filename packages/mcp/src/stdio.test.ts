import { PassThrough } from 'node:stream'
import type { Client } from '@plumbline/client/client'
import { expect, test } from 'vitest'
import { loadSdk } from './sdk.ts'
import { serveStdio } from './stdio.ts'

test('a program that was stopped before it serves ends at once', async () => {
  const sdk = await loadSdk()
  if (sdk === undefined) throw new Error('the SDK is not installed')
  const written: string[] = []
  const note = (text: string): void => void written.push(text)
  // Safe because no tool is called.
  const client = {} as Client
  const streams = { input: new PassThrough(), write: note, tell: note, stop: AbortSignal.abort() }
  await serveStdio(sdk, client, streams)
  expect(written).toEqual([])
}, 5_000)
