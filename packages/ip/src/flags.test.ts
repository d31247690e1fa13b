import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseAddress } from '@plumbline/net/address-bytes'
import { loadIpLists } from './data.ts'
import { flagAddress, type IpFlags, type IpLists } from './flags.ts'

/** Forty public resolvers. Source: their operators' own pages, November 2026. */
const RESOLVERS = `
  8.8.8.8 8.8.4.4 2001:4860:4860::8888 2001:4860:4860::8844
  1.1.1.1 1.0.0.1 1.1.1.2 1.1.1.3 2606:4700:4700::1111 2606:4700:4700::1001
  9.9.9.9 149.112.112.112 9.9.9.10 2620:fe::fe 2620:fe::9
  208.67.222.222 208.67.220.220 208.67.222.123 2620:119:35::35
  94.140.14.14 94.140.15.15 2a10:50c0::ad1:ff 185.228.168.9 185.228.169.9
  76.76.2.0 76.76.10.0 45.90.28.0 45.90.30.0 77.88.8.8 77.88.8.1
  223.5.5.5 223.6.6.6 114.114.114.114 119.29.29.29 4.2.2.2 64.6.64.6 156.154.70.1
  8.26.56.26 84.200.69.80 116.202.176.26`
  .trim()
  .split(/\s+/)

/** Twenty addresses of Googlebot. Source: blocks of Google's googlebot.json, August 2025. */
const GOOGLEBOT = `
  66.249.64.1 66.249.64.33 66.249.65.97 66.249.66.1 66.249.66.200 66.249.68.33 66.249.69.98
  66.249.72.9 66.249.74.3 66.249.76.4 66.249.79.11 192.178.5.12 192.178.6.33 34.22.85.5
  34.100.182.100 34.118.254.3 34.176.130.17 35.247.243.241
  2001:4860:4801:10::1 2001:4860:4801:c::5`
  .trim()
  .split(/\s+/)

/** AWS, which the packaged list of hosting networks names. */
const HOSTED_BY = 16_509

function flagsOf(lists: IpLists, text: string): IpFlags {
  const address = parseAddress(text)
  if (address === null) throw new Error(`${text} is no address`)
  return flagAddress(lists, address, HOSTED_BY, null)
}

test('40 public resolvers and 20 addresses of Googlebot have no flags, whatever lists and networks they are in', async () => {
  expect([RESOLVERS.length, GOOGLEBOT.length]).toEqual([40, 20])
  const all = [...RESOLVERS, ...GOOGLEBOT]
  const dir = await mkdtemp(join(tmpdir(), 'flags-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  for (const list of ['vpn', 'proxy', 'tor', 'datacenter', 'relay', 'threat']) {
    await writeFile(join(dir, `${list}.txt`), `${all.join('\n')}\n`)
  }
  for (const lists of [await loadIpLists(null), await loadIpLists(dir)]) {
    for (const text of all) {
      const { signals, ...flags } = flagsOf(lists, text)
      const told = [flags.isVpn, flags.isProxy, flags.isTor, flags.isDatacenter, flags.isRelay]
      expect([text, signals, told.includes(true)]).toEqual([text, [], false])
    }
    expect(flagsOf(lists, '3.5.140.2').signals).toMatchObject([{ code: 'datacenter' }])
  }
})
