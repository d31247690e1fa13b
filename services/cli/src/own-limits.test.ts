import { Command } from 'commander'
import { expect, test } from 'vitest'
import { addLimitOptions, limitsOf, type LimitOptions } from './own-limits.ts'

test('limits that are named are set, "none" as null, and others are left out', () => {
  const command = addLimitOptions(new Command())
  command.parse(['--calls-per-second', 'none', '--upload-rows', '500'], { from: 'user' })
  expect(limitsOf(command.opts<LimitOptions>())).toEqual({
    calls_per_second: null,
    upload_rows: 500,
  })
})
