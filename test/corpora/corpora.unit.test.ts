import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { rowOf, xlsxOf, zipOf } from '@plumbline/intake/workbook-fixture'
import { packagedWeights } from '@plumbline/scoring/weights'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CORPORA, tierOf } from './judge.ts'
import { predictLine } from './predict.ts'
import { PREDICTORS, type Predictor } from './predictors.ts'
import { areaUnderCurve, scoreSignals } from './score-signals.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corpora-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true })
})

describe('predictions', () => {
  it('are made for every corpus, whatever the input', async () => {
    const settings = { root: folder, cityDb: undefined, asnDb: undefined, listsDir: null }
    const lines = fc.sample(
      fc.oneof(
        fc.string(),
        fc.record({ input: fc.anything() }).map((value) => JSON.stringify(value, noBigInt)),
        fc.record({ input: fc.string({ unit: 'binary' }) }).map((value) => JSON.stringify(value)),
      ),
      { numRuns: 60, seed: 7 },
    )
    const odd = [
      '',
      'null',
      '[]',
      '{"input":"../../etc/passwd"}',
      '{"input":{"number":5,"region":"??"}}',
      ...lines,
    ]
    for (const [name, create] of Object.entries(PREDICTORS)) {
      const predictor: Predictor = await create(settings)
      for (const line of odd) {
        const prediction = await predictLine(predictor, line)
        expect(typeof JSON.stringify(prediction), `${name} ${line}`).toBe('string')
      }
    }
    for (const corpus of CORPORA) expect(Object.keys(PREDICTORS)).toContain(corpus.predictor)
  }, 60_000)

  it('of a file have its records, its header and the roles of its columns', async () => {
    await writeFile(join(folder, 'a.csv'), 'Email;Phone;__proto__\na@b.example;+442079460958;x\n\n')
    const csv = await PREDICTORS['csv']?.({
      root: folder,
      cityDb: undefined,
      asnDb: undefined,
      listsDir: null,
    })
    const text = JSON.stringify(await csv?.('a.csv', {}))
    expect(text).toBe(
      '{"columns":["Email","Phone","__proto__"],"rows":1,' +
        '"records":[{"Email":"a@b.example","Phone":"+442079460958","__proto__":"x"}],' +
        '"delimiter":";","header_row":true,' +
        '"roles":{"email":["Email"],"phone":["Phone"],"ip":[],"domain":[]}}',
    )
    expect(await csv?.('../a.csv', {})).toMatchObject({ rows: 0 })
  })

  it('of a file are made for every format that the service accepts', async () => {
    const settings = { root: folder, cityDb: undefined, asnDb: undefined, listsDir: null }
    const csv = await PREDICTORS['csv']?.(settings)
    const cells = 'Email,City\na@b.example,Köln\n'
    const json = '{"Email":"a@b.example","City":"Köln"}\n'
    const sheet = [rowOf('Email', 'City'), rowOf('a@b.example', 'Köln')].join('')
    const workbook = await xlsxOf({ rows: sheet })
    const files: Readonly<Record<string, string | Buffer>> = {
      'b.csv': cells,
      'b.tsv': cells.replaceAll(',', '\t'),
      'b.txt': cells,
      'b.ndjson': json,
      'b.json': json,
      'b.xlsx': workbook,
      'b.xlsm': workbook,
      'b.csv.gz': gzipSync(cells),
      'b.jsonl.gz': gzipSync(json),
      'cells.zip': await zipOf({ 'list.csv': cells }),
      'json.zip': await zipOf({ 'list.ndjson': json }),
      'workbook.zip': await zipOf({ 'list.xlsx': workbook }),
      'latin.csv': Buffer.from(cells, 'latin1'),
    }
    for (const [name, bytes] of Object.entries(files)) {
      await writeFile(join(folder, name), bytes)
      expect([name, await csv?.(name, {})]).toEqual([
        name,
        expect.objectContaining({
          columns: ['Email', 'City'],
          rows: 1,
          records: [{ Email: 'a@b.example', City: 'Köln' }],
          roles: { email: ['Email'], phone: [], ip: [], domain: [] },
        }),
      ])
    }
  })
})

describe('judgement', () => {
  const judge = (file: string, key: string, expected: object, prediction: object): unknown =>
    CORPORA.find((corpus) => corpus.file === file)?.keys[key]?.({ ...expected }, { ...prediction })

  it.each([
    ['email-syntax', 'valid', { valid: true }, { valid: true }, true],
    ['whois', 'registered', { registered: false }, { registered: null }, false],
    ['whois', 'registered', { throttled: true, registered: false }, { registered: null }, true],
    ['whois', 'created', { created: null }, { created: '2020-01-01' }, undefined],
    [
      'rdap',
      'created',
      { created: '2020-01-01T00:00:00.000Z' },
      { created: '2020-01-01T00:00:00Z' },
      true,
    ],
    [
      'smtp-replies',
      'verdict',
      { verdict_any: ['risky', 'unknown'] },
      { verdict: 'unknown' },
      true,
    ],
    ['idna', 'ascii', { valid: false }, { ascii: 'x' }, false],
    [
      'domain-typos',
      'suggestion_domain',
      { suggestion_domain: null },
      { suggestion_domain: null },
      true,
    ],
    ['phone-examples', 'line_type', { line_type: 'toll_free' }, { line_type: 'unknown' }, true],
    ['phone-examples', 'country_code', { region: '001' }, { country_code: null }, true],
    ['ip-city', 'city', { city: { names: { en: 'London' } } }, { city: 'London' }, true],
    ['ip-city', 'city', {}, { city: 'London' }, undefined],
    ['csv', 'records', { records: [{ a: '1', b: '' }] }, { records: [{ b: '', a: '1' }] }, true],
  ])('of %s %s', (file, key, expected, prediction, right) => {
    expect(judge(file, key, expected, prediction)).toBe(right)
  })

  it('counts disputed cases separately', () => {
    expect(tierOf({ expected: { tier: 'contested' } })).toBe('contested')
    expect(tierOf({ expected: { conflict: true } })).toBe('conflict')
    expect(tierOf({ expected: { contested: false } })).toBe('core')
    expect(tierOf({ tier: 'suspect' })).toBe('suspect')
  })
})

describe('labelled signals', () => {
  it('are scored by the weights and separated by level', async () => {
    const path = join(folder, 'signals.csv')
    const rows = ['1,1,0', '1,0,1', '0,0,1', '0,0,0', '0,0,0'].map((row) => `${row},x`)
    await writeFile(
      path,
      `label,email.disposable.disposable,ip.anonymity.vpn,note\n${rows.join('\n')}\n`,
    )
    const report = await scoreSignals(path, packagedWeights())
    expect(report).toContain('records 5, fraud 2')
    expect(report).toContain('columns that are no signal: note')
    // Five of six pairs are in order and one is a tie: 72 and 45 against 45, 0 and 0.
    expect(report).toContain('area under the curve 0.917')
    expect(report).toMatch(/high +1 +1 +100\.0 % +50\.0 %/)
    expect(report).toMatch(/medium +2 +1 +50\.0 % +50\.0 %/)
    expect(report).toMatch(/low +2 +0 +0\.0 % +0\.0 %/)
    expect(report).toMatch(/email\.disposable\.disposable +1 +1 +100\.0 % +72/)
    expect(report).toMatch(/ip\.anonymity\.vpn +2 +1 +50\.0 % +45/)
  })

  it('with labels of one kind have no area under the curve', () => {
    expect(areaUnderCurve([{ score: 5, fraud: true }])).toBeNull()
    expect(
      areaUnderCurve([
        { score: 9, fraud: true },
        { score: 1, fraud: false },
      ]),
    ).toBe(1)
  })
})

function noBigInt(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
