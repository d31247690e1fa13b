import { expect, test } from 'vitest'
import { fakeResolver } from '@plumbline/email/smtp-fixture'
import { findDmarc } from './dmarc.ts'

const NEVER = new AbortController().signal
type Zone = Readonly<Record<string, readonly string[] | 'failed' | 'nxdomain'>>

async function found(name: string, zone: Zone): Promise<string> {
  const records = Object.entries(zone).map(([at, texts]) => [`_dmarc.${at} TXT`, texts])
  const resolver = fakeResolver(Object.fromEntries(records))
  const answer = await findDmarc(resolver, name, NEVER)
  return answer.kind === 'record'
    ? `${answer.record.policy} at ${answer.record.domain}`
    : answer.kind
}

test.each<[string, string, Zone, string]>([
  ['its own record', 'a.test', { 'a.test': ['v=DMARC1; p=reject'] }, 'reject at a.test'],
  ['that of the domain above', 'x.a.test', { 'a.test': ['v=DMARC1;p=none'] }, 'none at a.test'],
  [
    'its own before that above',
    'x.a.test',
    { 'x.a.test': ['v=DMARC1; p=quarantine'], 'a.test': ['v=DMARC1; p=none'] },
    'quarantine at x.a.test',
  ],
  [
    'the highest of several above',
    'y.x.a.test',
    { 'x.a.test': ['v=DMARC1; p=none'], 'a.test': ['v=DMARC1; p=reject'] },
    'reject at a.test',
  ],
  [
    'that below a public suffix',
    'x.a.test',
    { 'a.test': ['v=DMARC1; p=none'], test: ['v=DMARC1; p=reject; psd=y'] },
    'none at a.test',
  ],
  [
    'that of the public suffix',
    'x.a.test',
    { test: ['v=DMARC1; p=reject; psd=y'] },
    'reject at test',
  ],
  [
    'nothing above a record that says it is the last',
    'y.x.a.test',
    { 'x.a.test': ['v=DMARC1; p=none; psd=n'], 'a.test': ['v=DMARC1; p=reject'] },
    'none at x.a.test',
  ],
  [
    'a long name by its last seven labels',
    'a.b.c.d.e.f.g.h.test',
    { 'c.d.e.f.g.h.test': ['v=DMARC1; p=reject'], 'b.c.d.e.f.g.h.test': ['v=DMARC1; p=none'] },
    'reject at c.d.e.f.g.h.test',
  ],
  ['none where two stand', 'a.test', { 'a.test': ['v=DMARC1; p=none', 'v=DMARC1'] }, 'none'],
  ['none where the version is not first', 'a.test', { 'a.test': ['p=none; v=DMARC1'] }, 'none'],
  ['none where the version is in small letters', 'a.test', { 'a.test': ['v=dmarc1'] }, 'none'],
  ['a record without a policy', 'a.test', { 'a.test': ['v = DMARC1 ; p=x'] }, 'null at a.test'],
  ['no answer', 'x.a.test', { 'x.a.test': 'failed' }, 'failed'],
  [
    'its own record though nothing above answers',
    'x.a.test',
    { 'x.a.test': ['v=DMARC1; p=none'], 'a.test': 'failed' },
    'none at x.a.test',
  ],
  [
    'no answer where only a part of the walk is known',
    'x.a.test',
    { 'a.test': 'failed' },
    'failed',
  ],
])('%s', async (_, name, zone, expected) => {
  expect(await found(name, zone)).toBe(expected)
})
