import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { entriesBelow } from '@plumbline/testkit/entries-below'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService, type TestService } from '@plumbline/testkit/service'

const FORM =
  '--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nemail\na@example.com\n'
const RECORDS = '{"product":"email","records":[{"email":"a@example.com"},'

test('uploads of a killed API are removed when it starts again; those of another API stay', async () => {
  await using database = await createTestDatabase()
  await using service = await startService({
    databaseUrl: database.url,
    redisUrl: undefined,
    workers: [],
  })
  await using other = await startService({
    databaseUrl: database.url,
    redisUrl: undefined,
    workers: [],
    env: { DATA_DIR: service.dataDir },
  })
  const { liveKey } = await service.account()
  using sent = new DisposableStack()
  sent.use(send(service, liveKey, 'multipart/form-data; boundary=b', FORM))
  sent.use(send(service, liveKey, 'application/json', RECORDS))
  sent.use(send(other, liveKey, 'multipart/form-data; boundary=b', FORM))
  await expect.poll(() => filesIn(service)).toHaveLength(3)

  await service.api.kill('SIGKILL')
  expect(await filesIn(service)).toHaveLength(3)
  await service.api.restart()
  expect(await filesIn(service)).toEqual([expect.stringMatching(/^upload-/)])

  await other.api.kill('SIGKILL')
  await service.api.kill('SIGTERM')
  await service.api.restart()
  expect(await filesIn(service)).toEqual([])
})

/** White space, valid in a file and between records, sent often enough for the minimum rate. */
const MORE = `${' '.repeat(8_191)}\n`
const MORE_EVERY_MS = 100

/** Begins an upload of a file or of records that continues until it is stopped. */
function send(service: TestService, key: string, type: string, body: string): Disposable {
  const { port } = new URL(service.url)
  const socket = connect({ port: Number(port), host: '127.0.0.1' }).on('error', () => {})
  socket.write(
    `POST /v1/batches HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: ${type}\r\nContent-Length: 15000000\r\n\r\n${body}`,
  )
  const more = setInterval(() => socket.write(MORE), MORE_EVERY_MS)
  return {
    [Symbol.dispose]: () => {
      clearInterval(more)
      socket.destroy()
    },
  }
}

async function filesIn({ dataDir }: TestService): Promise<readonly string[]> {
  const found = await entriesBelow(join(dataDir, 'scratch'))
  return found.filter((entry) => entry.isFile()).map(({ name }) => name)
}
