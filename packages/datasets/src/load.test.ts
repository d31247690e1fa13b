import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseAddress } from '@plumbline/net/address-bytes'
import { loadRangesInWorker } from './load-in-worker.ts'
import { loadAsns, loadNames, loadRanges } from './load.ts'
import { judgeName, loadMailDomainLists } from './mail-domains.ts'
import type { RangeList } from './ranges.ts'

async function folder(files: Readonly<Record<string, string>>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'lists-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text)
  return dir
}

function levelsOf(list: RangeList, of: Uint8Array): readonly number[] {
  return list.matches(of).map(({ level }) => level)
}

function address(text: string): Uint8Array {
  const bytes = parseAddress(text)
  if (bytes === null) throw new Error(`expected an address, got ${text}`)
  return bytes
}

test('a name is found by itself and below a listed parent, and not as a sibling of one', async () => {
  const dir = await folder({ 'free.txt': '# date: 2026-11-01\nMail.Example.\nbücher.example\n' })
  const list = await loadNames(dir, 'free')
  expect(list.match('mail.example')).toBe('mail.example')
  expect(list.match('a.b.mail.example')).toBe('mail.example')
  expect(list.has('xmail.example')).toBe(false)
  expect(list.exact('a.mail.example')).toBe(false)
  expect(list.has('xn--bcher-kva.example')).toBe(true)
  expect([list.count, list.date]).toEqual([2, '2026-11-01'])
})

test('a domain that is excluded from probing is found in any notation of its name', async () => {
  const dir = await folder({ 'opt-out.txt': 'Bücher.example\nxn--fhren-jua.example\n' })
  const list = await loadNames(dir, 'opt-out')
  expect(list.has('xn--bcher-kva.example')).toBe(true)
  expect(list.has('xn--fhren-jua.example')).toBe(true)
})

test('a comment may follow an entry', async () => {
  const dir = await folder({
    'opt-out.txt': 'ada.example  # asked on 2026-11-28\nbob.example\t#\n',
    'role.txt': 'c#\n',
    'threat.txt': '192.0.2.1 # seen twice\n192.0.2.2\t5\t# seen often\n',
    'threat-asn.txt': 'AS64500 # gone\n',
  })
  const optOut = await loadNames(dir, 'opt-out')
  expect([...optOut.entries()]).toEqual(['ada.example', 'bob.example'])
  expect((await loadNames(dir, 'role')).exact('c#')).toBe(true)
  const threat = await loadRanges(dir, 'threat')
  const levels = ['192.0.2.1', '192.0.2.2'].flatMap((text) => levelsOf(threat, address(text)))
  expect(levels).toEqual([1, 5])
  expect((await loadAsns(dir, 'threat-asn')).match(64_500)).not.toBeNull()
})

test('a file of the list replaces the packaged ones, a file of a source is added to them', async () => {
  const replaced = await loadNames(
    await folder({ 'disposable.txt': 'throw.example\n' }),
    'disposable',
  )
  expect([replaced.has('throw.example'), replaced.has('mailinator.com')]).toEqual([true, false])
  const added = await loadNames(
    await folder({ 'disposable.mine.txt': 'throw.example\n' }),
    'disposable',
  )
  expect([added.has('throw.example'), added.has('mailinator.com')]).toEqual([true, true])
  expect(added.sourceOf('throw.example')?.name).toBe('mine')
})

test('a fetched source replaces the packaged source with its name', async () => {
  const dir = await folder({ 'disposable.disposable-email-domains-js.txt': 'throw.example\n' })
  const list = await loadNames(dir, 'disposable')
  const named = list.sources.filter((source) => source.name === 'disposable-email-domains-js')
  expect(named).toMatchObject([{ count: 1 }])
})

test('lookups of ranges agree with a linear scan, whatever their order and overlaps', async () => {
  let state = 11
  const random = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
  const blocks = Array.from({ length: 400 }, () => {
    const prefix = 20 + random(13)
    const base = (random(65_536) >>> (32 - prefix)) << (32 - prefix)
    return { base, prefix, level: 1 + random(9) }
  })
  const text = blocks.map(
    ({ base, prefix, level }) => `10.0.${base >> 8}.${base & 255}/${prefix}\t${level}`,
  )
  const list = await loadRanges(await folder({ 'threat.txt': text.join('\n') }), 'threat')
  for (let round = 0; round < 5_000; round++) {
    const value = random(65_536)
    const held = blocks.filter(
      ({ base, prefix }) => value >= base && value < base + 2 ** (32 - prefix),
    )
    const expected = held.length === 0 ? [] : [Math.max(...held.map(({ level }) => level))]
    expect(levelsOf(list, Uint8Array.from([10, 0, value >> 8, value & 255]))).toEqual(expected)
  }
})

test('ranges reach the ends of both address spaces', async () => {
  const dir = await folder({ 'vpn.txt': '0.0.0.0/1\n128.0.0.0/1\n::/1\n8000::/1\n' })
  const list = await loadRanges(dir, 'vpn')
  for (const text of [
    '0.0.0.0',
    '255.255.255.255',
    '::',
    'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
  ]) {
    expect(list.has(address(text))).toBe(true)
  }
})

test('a list loaded in a worker thread equals the list loaded in this one', async () => {
  const dir = await folder({ 'tor.txt': '1.2.3.4\n2001:db8::/32\n', 'vpn.txt': '' })
  const [tor, vpn] = await loadRangesInWorker(dir, ['tor', 'vpn'])
  expect(tor?.matches(address('2001:db8::5'))).toMatchObject([
    { source: { name: 'own', count: 2 } },
  ])
  expect(vpn?.count).toBe(0)
})

test('an error about an invalid block names the file and line', async () => {
  const dir = await folder({ 'vpn.txt': '# a comment\n1.2.3.0/24\n1.2.3.4/40\n' })
  await expect(loadRanges(dir, 'vpn')).rejects.toThrow(/vpn\.txt line 3.*1\.2\.3\.4\/40/)
  await expect(loadRangesInWorker(dir, ['vpn'])).rejects.toThrow(/vpn\.txt line 3/)
})

test('network numbers are read with their comments', async () => {
  const list = await loadAsns(
    await folder({ 'threat-asn.txt': 'AS64500 Example\n64501\n' }),
    'threat-asn',
  )
  expect([list.match(64_500)?.name, list.match(64_501)?.name, list.match(1)]).toEqual([
    'own',
    'own',
    null,
  ])
})

test('well-known disposable services are listed, with any host below them', async () => {
  const lists = await loadMailDomainLists(null)
  const names = [
    'mailinator.com',
    'guerrillamail.com',
    '10minutemail.com',
    'yopmail.com',
    'temp-mail.org',
    'trashmail.com',
    'maildrop.cc',
    'sharklasers.com',
    'getnada.com',
    'x.mailinator.com',
  ]
  for (const name of names) expect([name, judgeName(name, lists).disposable]).toEqual([name, true])
})

test('free providers are free and never disposable, privacy relays are neither', async () => {
  const lists = await loadMailDomainLists(null)
  for (const name of [
    'gmail.com',
    'outlook.com',
    'proton.me',
    'gmx.de',
    'dr.com',
    'hushmail.com',
  ]) {
    expect([name, judgeName(name, lists)]).toMatchObject([name, { disposable: false, free: true }])
  }
  for (const name of ['duck.com', 'mozmail.com', 'privaterelay.appleid.com', 'simplelogin.com']) {
    expect([name, judgeName(name, lists)]).toMatchObject([
      name,
      { disposable: false, free: false, relay: true },
    ])
  }
  expect(judgeName('iana.org', lists)).toMatchObject({
    disposable: false,
    free: false,
  })
})

test('a name reserved for documentation is not a mail service', async () => {
  const lists = await loadMailDomainLists(null)
  for (const name of ['example.com', 'example.net', 'example.org']) {
    expect([name, judgeName(name, lists)]).toMatchObject([name, { disposable: false, free: false }])
  }
})

test('a public suffix with unrelated customers is not a mail service', async () => {
  const lists = await loadMailDomainLists(null)
  for (const name of ['ddns.net', 'someone.ddns.net', 'za.com', 'firm.za.com', 'pp.ua', 'web.id']) {
    expect([name, judgeName(name, lists)]).toMatchObject([name, { disposable: false, free: false }])
  }
})
