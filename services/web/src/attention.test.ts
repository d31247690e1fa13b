import type { AccountView } from '@plumbline/contract/account'
import type { BatchView } from '@plumbline/contract/batch-view'
import { expect, test } from 'vitest'
import { attentionOf } from './attention.ts'

const NOW = Date.parse('2026-03-02T12:00:00Z')
const NO_BATCHES: readonly BatchView[] = []

function account(
  credits: Partial<AccountView['credits']>,
  spending: Partial<AccountView['spending']> = {},
): Pick<AccountView, 'credits' | 'spending'> {
  return {
    credits: { allowance: 0, packs: 0, held: 0, resets_at: '2026-04-01T00:00:00Z', ...credits },
    spending: { today: 0, daily_limit: null, low_mark: null, ...spending },
  }
}

function batch(set: Partial<BatchView>): BatchView {
  // Safe because what needs attention depends on these fields alone.
  return { id: 'b1', status: 'completed', error: null, failed_at: null, ...set } as BatchView
}

function texts(
  of: Pick<AccountView, 'credits' | 'spending'>,
  batches: readonly BatchView[] = NO_BATCHES,
): readonly string[] {
  return attentionOf({ account: of, batches, now: NOW }).map(({ text }) => text)
}

test('credits below the mark are reported, packs counted with the allowance', () => {
  expect(texts(account({ allowance: 30, packs: 20 }, { low_mark: 50 }))).toEqual([])
  expect(texts(account({ allowance: 29, packs: 20 }, { low_mark: 50 }))).toEqual([
    '49 credits are left, below the mark of 50.',
  ])
  expect(texts(account({ packs: 1 }, { low_mark: 1_000 }))).toEqual([
    '1 credit is left, below the mark of 1,000.',
  ])
  expect(texts(account({ packs: 1 }))).toEqual([])
})

test('zero credits are reported once, with or without a mark', () => {
  const said = [expect.stringMatching(/^No credits are left/)]
  expect(texts(account({}, { low_mark: 50 }))).toEqual(said)
  expect(texts(account({}))).toEqual(said)
})

test('a daily limit that is used up is reported', () => {
  expect(texts(account({ packs: 9 }, { today: 9, daily_limit: 10 }))).toEqual([])
  expect(texts(account({ packs: 9 }, { today: 10, daily_limit: 10 }))).toEqual([
    expect.stringMatching(/^The daily spending limit of 10 is used up/),
  ])
})

test('batches that wait or failed recently are listed, with a link to the page of a single one or to the list', () => {
  const rich = account({ packs: 9 })
  const failed = batch({ id: 'f1', status: 'failed', failed_at: '2026-03-01T12:00:00Z' })
  const old = batch({ id: 'f0', status: 'failed', failed_at: '2026-02-20T12:00:00Z' })
  const ask = (batches: readonly BatchView[]) =>
    attentionOf({ account: rich, batches, now: NOW }).map(({ text, action }) => [
      text,
      action?.href,
    ])
  expect(ask([old, batch({})])).toEqual([])
  expect(ask([failed, old])).toEqual([['A batch failed.', '/app/batches/f1']])
  expect(ask([failed, { ...failed, id: 'f2' }, batch({ id: 'r1', status: 'ready' })])).toEqual([
    ['A batch is read and waits to be started.', '/app/batches/r1'],
    ['2 batches failed.', '/app/batches?state=failed'],
  ])
})

test('data that is not loaded yet is not reported', () => {
  expect(attentionOf({ account: undefined, batches: NO_BATCHES, now: NOW })).toEqual([])
})
