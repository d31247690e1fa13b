import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ROOT } from './run.ts'

interface LockEntry {
  readonly resolved?: string
  readonly link?: boolean
  readonly dev?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** Safe because npm writes it in its documented form. */
const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  packages: Readonly<Record<string, LockEntry>>
}

describe('package-lock.json', () => {
  test('names no registry', () => {
    const addressed = Object.entries(packages).filter(([, { resolved = '' }]) =>
      resolved.includes('://'),
    )
    expect(addressed.map(([path]) => path)).toEqual([])
  })

  test('has every optional dependency, as npm ci requires', () => {
    const missing = Object.values(packages).flatMap(({ optionalDependencies = {} }) =>
      Object.keys(optionalDependencies).filter(
        (name) => !Object.keys(packages).some((path) => path.endsWith(`node_modules/${name}`)),
      ),
    )
    expect(missing).toEqual([])
  })
})
