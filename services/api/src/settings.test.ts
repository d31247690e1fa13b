import { readSettings } from '@plumbline/runtime/settings'
import { expect, test } from 'vitest'
import { apiSettings } from './settings.ts'

const DATABASE_URL = 'postgres://localhost/x'

test('the time-out of a call must be shorter than that of its debit', () => {
  const read = (CALL_TIMEOUT_SECONDS: string, DEBIT_TIMEOUT_SECONDS: string) => () =>
    readSettings(apiSettings, { DATABASE_URL, CALL_TIMEOUT_SECONDS, DEBIT_TIMEOUT_SECONDS })
  expect(read('59', '60')).not.toThrow()
  expect(read('60', '60')).toThrow(/CALL_TIMEOUT_SECONDS: expected less than DEBIT_TIMEOUT_SECONDS/)
})
