import type { Client } from '@plumbline/client/client'
import type { BatchPreview } from '@plumbline/contract/batch-preview'
import { expect, test } from 'vitest'
import { confirmStart } from './confirm.ts'

const PREVIEW: BatchPreview = {
  id: 'bat_1',
  product: 'email',
  status: 'ready',
  file: { format: 'csv', encoding: 'utf-8', delimiter: ',', sheet: null, header_row: 1 },
  columns: [
    {
      column: 0,
      header: 'E-mail\u202e',
      values: ['a@b.example'],
      kind: 'email',
      confidence: 1,
      field: 'email',
    },
  ],
  default_country: null,
  known: null,
  first_rows: [['a@b.example']],
  counted: true,
  rows: { total: 3, blank: 0, refused: 1, duplicate: 0, known: 0, billable: 2 },
  refused: [{ reason: 'email: is missing', count: 1, examples: [{ row: 2, cells: [''] }] }],
  repeats: [],
  cost: {
    parts: [{ part: 'email', records: 2, price: 1, credits: 2 }],
    cap_discount: 0,
    sampled: 0,
    credits: 2,
    balance: 10,
    balance_after: 8,
  },
  error: null,
}

/** A service with one waiting batch, and a user who answers; records the output and the calls. */
function scene(answer: boolean, preview: BatchPreview = PREVIEW) {
  const done: string[] = []
  const said = { text: '' }
  const batches = {
    wait: async () => ({ id: 'bat_1', status: 'ready' }),
    preview: async () => preview,
    start: async () => {
      done.push('start')
      return { id: 'bat_1', status: 'running' }
    },
  }
  const shell = {
    environment: {},
    write: () => {},
    tell: (text: string) => void (said.text += text),
    redraws: true,
    hasColors: false,
    stop: new AbortController().signal,
    fail: () => {},
    ask: async (question: string) => {
      said.text += question
      return answer
    },
  }
  // Safe because confirming uses these calls alone.
  const client = { batches } as unknown as Client
  return { done, said, confirm: (most?: number) => confirmStart(shell, client, 'bat_1', most) }
}

test('a batch is started when the user has seen its cost and confirms', async () => {
  const { done, said, confirm } = scene(true)
  expect(await confirm()).toMatchObject({ status: 'running' })
  expect(done).toEqual(['start'])
  expect(said.text).toContain('email: is missing')
  expect(said.text).toMatch(/balance_after +8/)
  expect(said.text).toContain('Start it for at most 2 credits?')
  expect(said.text).not.toContain('\u202e')
})

test('nothing is spent if the user declines, or if the batch may cost more than allowed', async () => {
  const no = scene(false)
  await expect(no.confirm()).rejects.toThrow('Nothing was spent. The batch bat_1 waits')
  const dear = scene(true)
  await expect(dear.confirm(1)).rejects.toThrow('more than --max-credits 1')
  const unread = scene(true, { ...PREVIEW, cost: null, counted: false })
  await expect(unread.confirm()).rejects.toThrow('waits to be started')
  expect([no.done, dear.done, unread.done]).toEqual([[], [], []])
})
