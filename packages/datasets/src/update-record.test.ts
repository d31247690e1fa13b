import { expect, test } from 'vitest'
import { judgeUpdate, type UpdateRecord } from './update-record.ts'

const MINUTE_MS = 60_000

test('an update that has not ended long after its begin is reported, as of a process that is killed each night', () => {
  const record: UpdateRecord = {
    startedAt: '2026-11-20T03:17:00.000Z',
    endedAt: null,
    wholeAt: null,
    sourceCount: 0,
    missing: [],
  }
  const after = (minutes: number): unknown =>
    judgeUpdate(record, new Date(Date.parse(record.startedAt) + minutes * MINUTE_MS))
  expect(after(60)).toEqual({ status: 'ok', detail: 'begun at 2026-11-20T03:17:00.000Z' })
  expect(after(180)).toEqual({
    status: 'degraded',
    detail: 'begun at 2026-11-20T03:17:00.000Z and not ended',
  })
})
