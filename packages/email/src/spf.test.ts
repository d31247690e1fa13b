import { describe, expect, test } from 'vitest'
import { fakeResolver } from './smtp-fixture.ts'
import { checkSpf, type SpfResult } from './spf.ts'

const NEVER = new AbortController().signal
type Zone = Readonly<Record<string, readonly unknown[] | 'failed' | 'nxdomain'>>

/** Names that the records below refer to. */
const NAMES: Zone = {
  'host.test A': ['192.0.2.10', '192.0.2.11'],
  'host.test AAAA': ['2001:db8::10'],
  'sender.test A': ['192.0.2.10'],
  'sender.test MX': [{ preference: 10, exchange: 'host.test' }],
  'pass.test TXT': ['v=spf1 ip4:192.0.2.10 -all'],
  'fail.test TXT': ['v=spf1 -all'],
  'loop.test TXT': ['v=spf1 include:loop.test -all'],
  'broken.test TXT': ['v=spf1 nonsense'],
  'silent.test TXT': 'failed',
  'many.test MX': Array.from({ length: 11 }, (_, at) => ({
    preference: at,
    exchange: 'host.test',
  })),
  'null.test MX': [{ preference: 0, exchange: '.' }],
  '10.2.0.192.in-addr.arpa PTR': ['mail.sender.test', 'liar.test'],
  'mail.sender.test A': ['192.0.2.10'],
  'liar.test A': ['192.0.2.99'],
  '192.0.2.10.allowed.test A': ['127.0.0.2'],
  'ann.user.test A': ['127.0.0.2'],
  '10.2.0.192.in-addr.sender.test A': ['127.0.0.2'],
}

async function judged(record: string | readonly string[], ip = '192.0.2.10'): Promise<SpfResult> {
  const texts = typeof record === 'string' ? [record] : record
  const resolver = fakeResolver({ ...NAMES, 'sender.test TXT': texts })
  return await checkSpf(resolver, { sender: 'ann@sender.test', ip, helo: 'host.test' }, NEVER)
}

describe('an SPF record', () => {
  test.each<[string, SpfResult]>([
    ['v=spf1', 'neutral'],
    ['v=spf1 -all', 'fail'],
    ['v=spf1 ~all', 'softfail'],
    ['v=spf1 ?all', 'neutral'],
    ['V=SPF1 ALL', 'pass'],
    ['v=spf10 all', 'none'],
    ['v=spf1 ip4:192.0.2.0/28 -all', 'pass'],
    ['v=spf1 ip4:192.0.2.0/29 -all', 'fail'],
    ['v=spf1 -ip4:192.0.2.10 all', 'fail'],
    ['v=spf1 ip6:::ffff:192.0.2.10 -all', 'fail'],
    ['v=spf1 a -all', 'pass'],
    ['v=spf1 a:host.test/32 -all', 'pass'],
    ['v=spf1 a:liar.test/24 -all', 'pass'],
    ['v=spf1 a:liar.test//24 -all', 'fail'],
    ['v=spf1 mx -all', 'pass'],
    ['v=spf1 mx:null.test -all', 'fail'],
    ['v=spf1 include:pass.test -all', 'pass'],
    ['v=spf1 include:fail.test ~all', 'softfail'],
    ['v=spf1 redirect=pass.test', 'pass'],
    ['v=spf1 redirect=fail.test ?all', 'neutral'],
    ['v=spf1 exists:%{i}.allowed.test -all', 'pass'],
    ['v=spf1 exists:%{l}.user.test -all', 'pass'],
    ['v=spf1 exists:%{ir}.%{v}.%{d} -all', 'pass'],
    ['v=spf1 exists:%{d1r}.%{o2}.nowhere.test -all', 'fail'],
    ['v=spf1 ptr -all', 'pass'],
    ['v=spf1 ptr:liar.test -all', 'fail'],
    ['v=spf1 exp=why.test x=y -all', 'fail'],
  ])('%s is %s', async (record, result) => {
    expect(await judged(record)).toBe(result)
  })

  test.each([
    'v=spf1 nonsense -all',
    'v=spf1 all:x',
    'v=spf1 ip4:192.0.2 -all',
    'v=spf1 ip4:192.0.2.0/33 -all',
    'v=spf1 ip4:2001:db8::1 -all',
    'v=spf1 a/33 -all',
    'v=spf1 a/08 -all',
    'v=spf1 include -all',
    'v=spf1 include: -all',
    'v=spf1 include:%{z}.test -all',
    'v=spf1 include:%{c}.test -all',
    'v=spf1 redirect=',
    'v=spf1 exp=why all',
    'v=spf1 exists:%.pass.test all',
    'v=spf1 redirect=pass.test redirect=pass.test',
    'v=spf1 include:nowhere.test all',
    'v=spf1 redirect=nowhere.test',
    'v=spf1 include:broken.test all',
    'v=spf1 include:loop.test all',
    'v=spf1 mx:many.test all',
    'v=spf1 a:no1.test a:no2.test a:no3.test all',
    `v=spf1 ${'a:liar.test '.repeat(11)}all`,
  ])('is a permanent error: %s', async (record) => {
    expect(await judged(record)).toBe('permerror')
  })

  test('whose name has no dot to shorten it at has an end', async () => {
    const resolver = fakeResolver({ 'sender.test TXT': [`v=spf1 exists:${'%{l}'.repeat(5)} -all`] })
    const sender = `${'x'.repeat(64)}@sender.test`
    const asked = { sender, ip: '192.0.2.10', helo: 'host.test' }
    expect(await checkSpf(resolver, asked, NEVER)).toBe('fail')
  })

  test('must be the only one', async () => {
    expect(await judged(['v=spf1 all', 'v=spf1 all'])).toBe('permerror')
    expect(await judged(['other', 'v=spf1 all'])).toBe('pass')
    expect(await judged('other')).toBe('none')
  })

  test('that could not be queried is a temporary error', async () => {
    expect(await judged('v=spf1 include:silent.test all')).toBe('temperror')
  })

  test('is evaluated with AAAA records for an IPv6 sender', async () => {
    expect(await judged('v=spf1 a:host.test//64 -all', '2001:db8::1')).toBe('pass')
    expect(await judged('v=spf1 a:host.test/0 -all', '2001:db8::1')).toBe('fail')
  })
})
