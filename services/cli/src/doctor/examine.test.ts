import { expect, test } from 'vitest'
import { examine } from './examine.ts'
import { attempt, ok } from './finding.ts'

const never = new AbortController().signal

test('malformed settings are the only finding, with every fault named', async () => {
  const findings = await examine({ SMTP_PORT: '0', RDAP_BOOTSTRAP_URL: 'nowhere' }, never)
  expect(findings).toMatchObject([{ name: 'settings', status: 'failed' }])
  expect(findings[0]?.detail).toMatch(/SMTP_PORT.*RDAP_BOOTSTRAP_URL/)
})

test('an examination that throws is a failed finding with advice, on one line', async () => {
  const broken = await attempt('disk', 'Replace it.', async () => {
    throw new Error('it is\n  on fire')
  })
  expect(broken).toEqual([
    { name: 'disk', status: 'failed', detail: 'it is on fire', advice: 'Replace it.' },
  ])
  expect(await attempt('disk', 'Replace it.', async () => [ok('disk', 'spins')])).toEqual([
    { name: 'disk', status: 'ok', detail: 'spins', advice: null },
  ])
})
