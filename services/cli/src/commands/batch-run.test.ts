import { appendFileSync } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCli } from '../program.ts'

/** Runs a batch of a file against a service; returns the status of the command and its messages. */
async function runBatch(
  serve: (path: string) => RequestListener,
  stop: AbortSignal,
): Promise<readonly [number, string]> {
  const dir = await mkdtemp(join(tmpdir(), 'plumbline-run-'))
  const path = join(dir, 'contacts.csv')
  const service = createServer(serve(path)).listen(0, '127.0.0.1')
  try {
    await once(service, 'listening')
    const address = service.address()
    const port = address === null || typeof address === 'string' ? 0 : address.port
    // More than the buffers of a connection hold.
    await writeFile(path, `email\n${'a@b.example\n'.repeat(1_000_000)}`)
    let err = ''
    const words = ['batch', 'run', path, '--product', 'email', '--out', join(dir, 'out.csv')]
    const status = await runCli(words, {
      environment: {
        DATA_DIR: dir,
        API_URL: `http://127.0.0.1:${port}`,
        PLUMBLINE_KEY: 'svc_live_x',
      },
      write: () => undefined,
      tell: (text) => void (err += text),
      redraws: false,
      hasColors: false,
      stop,
      fail: () => undefined,
    })
    expect(await readdir(dir)).toEqual(['contacts.csv'])
    return [status, err]
  } finally {
    service.closeAllConnections()
    service.close()
    await rm(dir, { recursive: true })
  }
}

test('a file that changes while it is sent is sent, and the response of the service is told', async () => {
  const serve =
    (path: string): RequestListener =>
    (req, res) => {
      req.once('data', () => appendFileSync(path, 'last@b.example\n'))
      req.on('data', () => undefined)
      req.on('end', () => {
        res.writeHead(402).end(JSON.stringify({ error: 'No', message: 'Top up the account.' }))
      })
    }
  const { signal } = new AbortController()
  expect(await runBatch(serve, signal)).toEqual([1, 'Top up the account.\n'])
})

test('a command that is interrupted before its upload sends nothing', async () => {
  let sent = 0
  const serve = (): RequestListener => (_req, res) => {
    sent += 1
    res.writeHead(402).end()
  }
  expect(await runBatch(serve, AbortSignal.abort())).toEqual([130, 'Interrupted.\n'])
  expect(sent).toBe(0)
})
