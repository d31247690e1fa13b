import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Request, Response } from 'express'
import { expect, test } from 'vitest'
import type { BodyIntake } from './records.ts'
import { apiSettings } from './settings.ts'
import { readUpload } from './upload.ts'

/** The refusal of an upload whose bytes are counted by `take`. */
async function refusalOf(take: BodyIntake['file']['take']): Promise<unknown> {
  const scratchDir = await mkdtemp(join(tmpdir(), 'plumbline-upload-'))
  const intake: BodyIntake = {
    scratchDir,
    settings: apiSettings.parse({
      DATABASE_URL: 'postgres://nobody@127.0.0.1/none',
      DATA_DIR: '/',
    }),
    file: { take, stored: () => undefined, [Symbol.dispose]: () => undefined },
    guard: { begin: () => undefined, within: (bytes) => bytes, refusalOf: (error) => error },
  }
  let met: unknown
  const server = createServer((req, res) => {
    // Safe because an upload asks a request for nothing that express adds.
    readUpload(req as Request, res as Response, intake).then(
      () => res.end(),
      (error: unknown) => {
        met = error
        res.end()
      },
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const form = new FormData()
  form.set('file', new Blob(['email\nada@example.com\n']), 'list.csv')
  await (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: form })).text()
  server.close()
  expect(await readdir(scratchDir)).toEqual([])
  await rm(scratchDir, { recursive: true })
  return met
}

test('a database failure during an upload is not reported as a fault of the form', async () => {
  // As the driver says it: without a code, as the parser of forms says what is wrong with them.
  const broken = new Error('Connection terminated unexpectedly')
  expect(await refusalOf(() => Promise.reject(broken))).toBe(broken)
})
