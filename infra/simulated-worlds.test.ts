import { expect, test } from 'vitest'
import { failedWorlds } from './simulated-worlds.ts'

const OUTPUT = `seed 1 on redis: held, 7 batches, 14 calls, 5 faults, 71 s in 17.8 s, 7.4 of a processor
seed 2 on postgres: FAILED, 5 batches, 8 calls, 10 faults, 36 s in 10.5 s, 3.9 of a processor
  batch 6 stands still at canceling
  account acc_1 has 7 held
[{"kind":"kill"}]
1 of 2 seeds held
`

test('failed worlds are named with the first violated condition', () => {
  expect(failedWorlds(OUTPUT)).toEqual([{ seed: 2, why: 'batch 6 stands still at canceling' }])
  expect(failedWorlds('2 of 2 seeds held\n')).toEqual([])
})
