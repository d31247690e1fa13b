import { magicValues } from '@plumbline/contract/magic'
import { CHECKS } from '@plumbline/contract/products'
import { RESULTS } from '@plumbline/contract/results'
import { createScorer } from '@plumbline/scoring/score'
import { packagedWeights } from '@plumbline/scoring/weights'
import { expect, test } from 'vitest'
import { testKeysText } from './test-key-reference.ts'

const text = testKeysText(createScorer(packagedWeights()))

function rowOf(value: string): string {
  return text.split('\n').find((line) => line.startsWith(`| \`${value}\` `)) ?? ''
}

test('shows every magic value once', () => {
  for (const check of CHECKS) {
    for (const { value } of magicValues(check)) {
      expect(text.split(`\`${value}\``)).toHaveLength(2)
    }
  }
})

test('names only fields that responses have, with their values', () => {
  const names = new Set(
    Object.values(RESULTS).flatMap((shape): readonly string[] => Object.keys(shape.shape)),
  )
  const fields = Array.from(text.matchAll(/`(\w+): ([^`]+)`/g), ([, name, value]) => ({
    name: name ?? '',
    value: value ?? '',
  }))
  expect(fields.length).toBeGreaterThan(200)
  for (const { name, value } of fields) {
    expect([name, names.has(name)]).toEqual([name, true])
    expect(() => JSON.parse(value)).not.toThrow()
  }
})

test.each([
  [
    'accept-means-nothing@magic.test',
    'risky, `accept_means_nothing` | `deliverable: false` | `confidence: "low"`, `catch_all: true`',
  ],
  ['invalid-name.magic.test', '`safety_score: 20`'],
  ['+12025550105', 'answered, `hlr_unknown_subscriber` | `reachable: false` |'],
  ['192.0.2.4', '`is_tor: true`, `threat_score: 70`'],
  ['status-402@magic.test', '402 Payment Required'],
  ['slow.magic.test', 'after 3 seconds'],
])('the row of %s has its response', (value, said) => {
  expect(rowOf(value)).toContain(said)
})

test('explains refusals in a batch', () => {
  expect(text).toContain('ends with status `error` and is not charged')
})
