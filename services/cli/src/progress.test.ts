import type { BatchView } from '@plumbline/contract/batch-view'
import { expect, test } from 'vitest'
import { createProgressBar } from './progress.ts'
import type { Shell } from './shell.ts'

function shellOf(redraws: boolean): { shell: Shell; said: string[] } {
  const said: string[] = []
  const shell: Shell = {
    environment: {},
    write: () => {},
    tell: (text) => void said.push(text),
    redraws,
    hasColors: false,
    stop: new AbortController().signal,
    fail: () => {},
  }
  return { shell, said }
}

function batchAt(status: BatchView['status'], done: number): BatchView {
  const none = { total: 4, blank: 0, refused: 0, duplicate: 0, known: 0, billable: 4 }
  return {
    id: 'bat_1',
    product: 'email',
    name: null,
    origin: null,
    status,
    created_at: '2026-01-01T00:00:00.000Z',
    expires_at: null,
    resumes_at: null,
    file: null,
    mapping: {},
    rows: { ...none, done },
    verdicts: {},
    weights: null,
    credits: { estimate: 4, held: 4, used: done, released: 0 },
    progress: done / 4,
    eta_seconds: null,
    error: null,
  }
}

const STEPS = [
  batchAt('analyzing', 0),
  batchAt('running', 1),
  batchAt('running', 1),
  batchAt('running', 2),
  batchAt('completed', 4),
]

test('on a terminal one line is redrawn with each change, and ended', () => {
  const { shell, said } = shellOf(true)
  {
    using bar = createProgressBar(shell)
    for (const step of STEPS) bar.show(step)
  }
  expect(said).toHaveLength(5)
  expect(said.slice(0, 4).every((text) => text.startsWith('\r') && !text.endsWith('\n'))).toBe(true)
  expect(said.at(-1)).toBe('\n')
})

test('to a file or pipe one line is written for each state', () => {
  const { shell, said } = shellOf(false)
  {
    using bar = createProgressBar(shell)
    for (const step of STEPS) bar.show(step)
  }
  expect(said.map((text) => /rows {2}(\w+)\n$/.exec(text)?.[1])).toEqual([
    'analyzing',
    'running',
    'completed',
  ])
})
