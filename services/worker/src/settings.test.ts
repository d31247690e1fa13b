import { readSettings } from '@plumbline/runtime/settings'
import { expect, test } from 'vitest'
import { workerSettings } from './settings.ts'

const DATABASE_URL = 'postgres://localhost/x'

test('a debit without an answer is given back within two minutes, whatever is set', () => {
  const read = (DEBIT_TIMEOUT_SECONDS: string, SWEEP_SECONDS: string) => () =>
    readSettings(workerSettings, { DATABASE_URL, DEBIT_TIMEOUT_SECONDS, SWEEP_SECONDS })
  expect(read('90', '30')).not.toThrow()
  expect(read('90', '31')).toThrow(/DEBIT_TIMEOUT_SECONDS: expected at most 120/)
})
