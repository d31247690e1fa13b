import { encode } from 'dns-packet'
import { expect, test } from 'vitest'
import { readReply } from './dns-message.ts'
import type { Reading } from './dns-message.ts'

const ID = 7
const QUESTION = { name: 'x.test', type: 'NS' } as const
const NAME_AT = 12
const DATA_AT = 12 + 8 + 4

/** A reply to `QUESTION` whose further bytes are `records`. */
function reply(answerCount: number, ...records: Buffer[]): Buffer {
  const head = encode({ type: 'response', id: ID, questions: [QUESTION] })
  head.writeUInt16BE(answerCount, 6)
  return Buffer.concat([head, ...records])
}

function record(owner: Buffer, type: number, data: Buffer): Buffer {
  const fields = Buffer.alloc(10)
  fields.writeUInt16BE(type, 0)
  fields.writeUInt16BE(1, 2)
  fields.writeUInt32BE(60, 4)
  fields.writeUInt16BE(data.length, 8)
  return Buffer.concat([owner, fields, data])
}

function pointer(to: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(0xc000 | to)
  return bytes
}

/** A name that needs this many pointers: each leads to the one before it, the first to the question. */
function chainOf(count: number): Buffer {
  const at = (index: number): number => DATA_AT + 11 + 2 * index
  const links = Array.from({ length: count }, (_, index) =>
    pointer(index === 0 ? NAME_AT : at(index - 1)),
  )
  const store = record(Buffer.from([0]), 65_280, Buffer.concat(links))
  return reply(2, store, record(pointer(NAME_AT), 2, pointer(at(count - 1))))
}

function read(message: Buffer): Reading {
  return readReply(message, ID, QUESTION)
}

test('compressed names are read, through sixteen pointers at most', () => {
  const found = { name: 'x.test', type: 'NS', ttlSeconds: 60, data: 'x.test' }
  expect(read(chainOf(15))).toMatchObject({ kind: 'reply', reply: { answers: [found] } })
  expect(read(chainOf(16))).toEqual({ kind: 'malformed' })
})

test('a message of 64 KiB whose every name has thousands of pointers is refused at once', () => {
  const chain = chainOf(8_000)
  const last = chain.subarray(-2)
  const records = Array.from({ length: 3_400 }, () => record(last, 2, last))
  const message = Buffer.concat([chain, ...records])
  message.writeUInt16BE(records.length + 2, 6)
  expect(message.length).toBeGreaterThan(60_000)
  const beganMs = performance.now()
  expect(read(message)).toEqual({ kind: 'malformed' })
  expect(performance.now() - beganMs).toBeLessThan(300)
})

test('pointers that do not lead back, long names and lengths beyond the end are malformed', () => {
  const own = pointer(NAME_AT)
  const label = Buffer.concat([Buffer.from([63]), Buffer.alloc(63, 'a')])
  const cases: Record<string, Buffer> = {
    'to itself': reply(1, record(own, 2, pointer(DATA_AT + 12))),
    forward: reply(1, record(own, 2, pointer(DATA_AT + 14)), Buffer.from([0])),
    'a long name': reply(1, record(Buffer.concat([label, label, label, label, own]), 2, own)),
    'a reserved label': reply(1, record(Buffer.from([0x80, 0]), 2, own)),
    'a name beyond its record': reply(1, record(own, 2, Buffer.from([1])), Buffer.from('a\0')),
    'a record beyond the end': reply(1, record(own, 2, own).subarray(0, -1)),
    'fewer records than counted': reply(2, record(own, 2, own)),
    'a short address': reply(1, record(own, 1, Buffer.alloc(3))),
    'a short SOA': reply(1, record(own, 6, Buffer.alloc(12))),
    'a reserved label behind a pointer': reply(
      2,
      record(Buffer.from([0]), 65_280, Buffer.concat([Buffer.alloc(66, 65), Buffer.from([0])])),
      record(own, 2, pointer(DATA_AT + 11)),
    ),
    'a record of no use beyond the end': reply(
      1,
      record(own, 65_280, Buffer.alloc(4)).subarray(0, -1),
    ),
    'two questions': encode({ type: 'response', id: ID, questions: [QUESTION, QUESTION] }),
    'a string beyond its record': reply(1, record(own, 16, Buffer.from([2, 65]))),
  }
  for (const [name, message] of Object.entries(cases)) {
    expect([name, read(message)]).toEqual([name, { kind: 'malformed' }])
  }
})

test('records of types that are not used are left out unread', () => {
  const own = pointer(NAME_AT)
  const odd = record(pointer(0x3fff), 46, Buffer.alloc(20, 0xff))
  const message = reply(2, odd, record(own, 2, own))
  expect(read(message)).toMatchObject({ reply: { answers: [{ type: 'NS', data: 'x.test' }] } })
})
