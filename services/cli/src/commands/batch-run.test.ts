import { appendFileSync } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCli } from '../program.ts'

test('a file that changes while it is sent is sent, and the response of the service is told', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'plumbline-run-'))
  const path = join(dir, 'contacts.csv')
  const service = createServer((req, res) => {
    req.once('data', () => appendFileSync(path, 'last@b.example\n'))
    req.on('data', () => undefined)
    req.on('end', () => {
      res.writeHead(402).end(JSON.stringify({ error: 'No', message: 'Top up the account.' }))
    })
  }).listen(0, '127.0.0.1')
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
      stop: new AbortController().signal,
      fail: () => undefined,
    })
    expect([status, err]).toEqual([1, 'Top up the account.\n'])
    expect(await readdir(dir)).toEqual(['contacts.csv'])
  } finally {
    service.closeAllConnections()
    service.close()
    await rm(dir, { recursive: true })
  }
})
