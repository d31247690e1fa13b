import { readFile } from 'node:fs/promises'
import { riskLevel } from '@plumbline/contract/results'
import type { Outcomes } from '@plumbline/contract/score'
import { describe, expect, it } from 'vitest'
import { domain, email, ip, phone } from './outcome-fixture.ts'
import { createScorer, riskOf } from './score.ts'
import { ageSignal, riskSignal } from '@plumbline/contract/signal'
import { overlayWeights, packagedWeights } from './weights.ts'

const PAGE = await readFile(new URL('../../../docs/scores.md', import.meta.url), 'utf8')
const scorer = createScorer(packagedWeights()).fraud
const voip = phone({ lineType: 'voip', numberType: 'voip' })
const datacenter = ip([riskSignal('ip.anonymity', 'datacenter')], { isDatacenter: true })
const throwaway = email({ disposable: true })
const twentyDays = ageSignal(20)

/** The examples of docs/scores.md, with the outcomes that the engines would give. */
const RECORDS: Readonly<Record<string, Outcomes>> = {
  'free mail': { email: email({ freeProvider: true }) },
  'free mail, role address, domain that accepts everything': {
    email: email({ freeProvider: true, roleAccount: true, catchAll: true }),
  },
  'IP in one country, phone of another': { ip: ip(), phone: phone({ countryCode: 'FR' }) },
  'data centre address': { ip: datacenter },
  'VPN and a VoIP number': { ip: ip([riskSignal('ip.anonymity', 'vpn')]), phone: voip },
  'domain of 20 days and a data centre address': {
    domain: domain(twentyDays === undefined ? [] : [twentyDays], { ageDays: 20 }),
    ip: datacenter,
  },
  'throwaway address': { email: throwaway },
  'throwaway address behind an open proxy': {
    email: throwaway,
    ip: ip([riskSignal('ip.anonymity', 'public_proxy')]),
  },
}

/** The cells of the table under a heading of the page. */
function tableUnder(heading: string): string[][] {
  const [, text = ''] = PAGE.split(`## ${heading}\n`)
  return (
    text
      .split('\n## ')[0]
      ?.split('\n')
      .filter((line) => line.startsWith('|'))
      .slice(2)
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      ) ?? []
  )
}

describe('docs/scores.md', () => {
  const rows = tableUnder('Examples')

  it('has examples that are all in this test', () => {
    expect(rows.map(([record]) => record).toSorted()).toEqual(Object.keys(RECORDS).toSorted())
  })

  it.each(rows)('%s: %s gives %s, %s', (record = '', groups = '', score = '', level) => {
    const told = scorer(RECORDS[record] ?? {})
    const weights = told.reasons.filter((reason) => reason.contribution > 0)
    expect(told.score).toBe(Number(score))
    expect(riskLevel(told.score)).toBe(level)
    expect(weights.map(({ weight }) => weight).toSorted()).toEqual(
      [...groups.replace(/\(.*?\)/g, '').matchAll(/\d+/g)].map(Number).toSorted(),
    )
  })

  it('has an example of weights that can be loaded', () => {
    const [, json = ''] = /^ {4}(\{ "version".*\})$/m.exec(PAGE) ?? []
    const own = overlayWeights(json, 'the page')
    expect(own.version).toMatch(/^acme-1\+[0-9a-f]{12}$/)
    expect(riskOf([riskSignal('ip.anonymity', 'vpn')], own)).toBe(20)
    expect(riskOf([riskSignal('phone.kind', 'voip')], own)).toBe(10)
  })
})
