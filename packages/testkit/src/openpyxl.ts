import { spawnSync } from 'node:child_process'
import { isCi } from './ci.ts'

const INSTALLED = ['python3', '/usr/bin/python3'].find(
  (python) => spawnSync(python, ['-c', 'import openpyxl']).status === 0,
)

/** A Python with the package openpyxl, which writes workbooks. */
export const PYTHON = INSTALLED ?? 'python3'

/** Whether openpyxl is missing; with CI=true the tests that need it fail. */
export const WITHOUT_OPENPYXL = !isCi() && INSTALLED === undefined
