import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect, test, vi } from 'vitest'
import { zipStream, type ZipEntry } from './zip-stream.ts'

test('an archive takes each entry when the one before is written', async () => {
  const order: string[] = []
  async function* entries(): AsyncGenerator<ZipEntry> {
    for (const name of ['a', 'b', 'c']) {
      order.push(`take ${name}`)
      const content = async function* (): AsyncGenerator<Buffer> {
        order.push(`read ${name}`)
        yield Buffer.from(name)
      }
      yield { name, open: () => Readable.from(content()) }
    }
  }
  const bytes = await buffer(zipStream(entries()))
  expect(order).toEqual(['take a', 'read a', 'take b', 'read b', 'take c', 'read c'])
  expect(bytes.toString('latin1').match(/PK\x01\x02/g)).toHaveLength(3)
})

test('an archive whose entries fail fails, and one that is not read to its end takes no more', async () => {
  async function* failing(): AsyncGenerator<ZipEntry> {
    yield { name: 'a', open: () => 'a' }
    throw new Error('no more')
  }
  await expect(buffer(zipStream(failing()))).rejects.toThrow('no more')

  let isEnded = false
  async function* endless(): AsyncGenerator<ZipEntry> {
    try {
      for (let no = 0; ; no++) yield { name: `${no}`, open: () => Readable.from(many()) }
    } finally {
      isEnded = true
    }
  }
  for await (const _ of zipStream(endless())) break
  await vi.waitFor(() => expect(isEnded).toBe(true))
})

async function* many(): AsyncGenerator<Buffer> {
  for (let no = 0; no < 1_000; no++) yield Buffer.alloc(65_536, no)
}
