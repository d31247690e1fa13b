import { expect, test } from 'vitest'
import { failedWorlds } from './simulated-worlds.ts'

const OUTPUT = `seed 1 on redis: passed, 7 batches, 14 calls, 5 faults, 71 s in 17.8 s, 7.4 s of processor time
seed 2 on postgres: FAILED, 5 batches, 8 calls, 10 faults, 36 s in 10.5 s, 3.9 s of processor time
  batch 6 (bat_1) is stuck as canceling
  account acc_1 has 7 held
[{"kind":"kill"}]
1 of 2 seeds passed
`

test('failed worlds are named with the first violated condition', () => {
  expect(failedWorlds(OUTPUT)).toEqual([{ seed: 2, why: 'batch 6 (bat_1) is stuck as canceling' }])
  expect(failedWorlds('2 of 2 seeds passed\n')).toEqual([])
})
