import { expect, test } from 'vitest'
import { parseAddress } from '@plumbline/net/address-bytes'
import { buildMmdb, encode, hostileSizes, pointerTo } from './mmdb-fixture.ts'
import { MmdbError } from './mmdb-value.ts'
import { type Mmdb, openMmdb } from './mmdb.ts'

const RECORDS = {
  '1.2.3.0/24': { city: 'Bern', names: { en: 'Bern', de: 'Bern', fr: 'Berne' }, latitude: 46.9 },
  '2001:db8::/32': { city: 'Oslo', list: ['a', 'b'], flag: true, count: 70_000 },
}

function find(mmdb: Mmdb, text: string): unknown {
  const address = parseAddress(text)
  const offset = address === null ? null : mmdb.locate(address)
  return offset === null ? null : mmdb.read(offset)
}

test.each([24, 28, 32] as const)('records are found in a tree of %i bits', async (recordSize) => {
  const mmdb = await openMmdb(buildMmdb(RECORDS, { recordSize }))
  expect(find(mmdb, '1.2.3.4')).toEqual({ city: 'Bern', names: { en: 'Bern' }, latitude: 46.9 })
  expect(find(mmdb, '2001:db8::1')).toEqual({
    city: 'Oslo',
    list: ['a', 'b'],
    flag: true,
    count: 70_000,
  })
  expect(find(mmdb, '1.2.4.4')).toBeNull()
  expect(mmdb.date).toBe('2026-05-28')
})

test('a file of IPv4 is never queried for IPv6', async () => {
  const mmdb = await openMmdb(buildMmdb({ '32.0.0.0/4': { city: 'Anywhere' } }, { ipVersion: 4 }))
  expect(find(mmdb, '33.1.1.1')).toEqual({ city: 'Anywhere' })
  expect(find(mmdb, '2001:4860:4860::8888')).toBeNull()
})

test('a file cut short at any place is refused', async () => {
  const whole = buildMmdb(RECORDS)
  for (let length = 0; length < whole.length; length++) {
    await expect(openMmdb(whole.subarray(0, length))).rejects.toThrow(MmdbError)
  }
  for (let from = 1; from < whole.length - 200; from += 97) {
    await expect(openMmdb(whole.subarray(from))).rejects.toThrow(MmdbError)
  }
})

test('sizes that cannot be allocated are refused without taking memory', async () => {
  const before = process.memoryUsage().rss
  for (const broken of hostileSizes(buildMmdb(RECORDS))) {
    await expect(openMmdb(broken)).rejects.toThrow(MmdbError)
  }
  expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024)
})

test('a record that contains itself is refused', async () => {
  const cycle = Buffer.concat([Buffer.from([0xe1]), encode('me'), pointerTo(0)])
  const filler = { '1.0.0.0/8': 'x'.repeat(cycle.length - 1) }
  const whole = buildMmdb(filler)
  const at = whole.indexOf(encode(filler['1.0.0.0/8']))
  cycle.copy(whole, at)
  await expect(openMmdb(whole)).rejects.toThrow(/levels|values/)
})

test('a record of more values than any real one is refused in bounded time', async () => {
  // Arrays of pointers to the array before them: 28 to the power of 6 values out of 400 bytes.
  const levels: Buffer[] = [encode('end')]
  let offset = 0
  for (let level = 0; level < 6; level++) {
    const target = offset
    offset += levels.at(-1)?.length ?? 0
    levels.push(
      Buffer.concat([Buffer.from([28, 4]), ...Array.from({ length: 28 }, () => pointerTo(target))]),
    )
  }
  const bomb = Buffer.concat(levels)
  const filler = 'x'.repeat(bomb.length + 8)
  const whole = buildMmdb({ '1.0.0.0/8': { a: filler } })
  const start = whole.indexOf(Buffer.alloc(16)) + 16
  const treeEnd = whole.indexOf(encode({ a: filler }))
  bomb.copy(whole, treeEnd)
  expect(start).toBeLessThanOrEqual(treeEnd)
  const mmdb = await openMmdb(whole)
  const startedMs = performance.now()
  expect(() => mmdb.read(treeEnd + offset)).toThrow(MmdbError)
  // Decoding all of it would take minutes.
  expect(performance.now() - startedMs).toBeLessThan(20_000)
})

test('flipped bytes give a record, no record or an error, and never anything else', async () => {
  const whole = buildMmdb(RECORDS)
  let state = 1
  const random = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
  const kinds = new Set<string>()
  for (let round = 0; round < 2_000; round++) {
    const broken = Buffer.from(whole)
    for (let flips = 0; flips < 3; flips++) broken[random(broken.length)] = random(256)
    kinds.add(await tryAll(broken))
  }
  expect([...kinds].toSorted()).toEqual(['answers', 'refuses'])
})

async function tryAll(bytes: Buffer): Promise<string> {
  try {
    const mmdb = await openMmdb(bytes)
    for (const text of ['1.2.3.4', '9.9.9.9', '2001:db8::1', 'ffff::']) find(mmdb, text)
    return 'answers'
  } catch (error) {
    return error instanceof MmdbError ? 'refuses' : String(error)
  }
}
