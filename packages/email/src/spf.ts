import { blockHolds, bytesOf, parseAddress } from '@plumbline/net/address'
import { parseBlock, type IpAddress } from '@plumbline/net/address'
import type { RecordOf } from '@plumbline/net/dns-message'
import type { Resolver } from '@plumbline/net/resolver'
import { pointerName } from '@plumbline/net/reversed-name'
import { expandMacros } from './spf-macro.ts'
import { isSpfRecord, parseSpf, type Mechanism, type SpfQualifier } from './spf-record.ts'

/** Whether a domain permits an address to send in its name. Source: RFC 7208 section 2.6. */
export type SpfResult =
  | 'none'
  | 'neutral'
  | 'pass'
  | 'fail'
  | 'softfail'
  | 'temperror'
  | 'permerror'

/** Limits of one evaluation. Source: RFC 7208 section 4.6.4. */
const MOST_LOOKUPS = 10
const MOST_VOID_LOOKUPS = 2
const MOST_HOSTS = 10

/** The sender: envelope address, IP address and HELO name. */
export interface SpfSender {
  readonly sender: string
  readonly ip: string
  readonly helo: string
}

/** Checks whether the domain of a sender permits its address (RFC 7208, `check_host`). */
export async function checkSpf(
  resolver: Resolver,
  from: SpfSender,
  signal: AbortSignal,
): Promise<SpfResult> {
  const address = parseAddress(from.ip)
  if (address === null) return 'none'
  const asking: Asking = { resolver, signal, from, address, lookups: 0, voids: 0 }
  try {
    return await checkHost(asking, from.sender.slice(from.sender.lastIndexOf('@') + 1))
  } catch (error) {
    if (error instanceof SpfError) return error.result
    throw error
  }
}

interface Asking {
  readonly resolver: Resolver
  readonly signal: AbortSignal
  readonly from: SpfSender
  readonly address: IpAddress
  lookups: number
  voids: number
}

/** Ends the whole evaluation. */
class SpfError extends Error {
  override readonly name = 'SpfError'
  readonly result: 'temperror' | 'permerror'

  constructor(result: 'temperror' | 'permerror') {
    super(result)
    this.result = result
  }
}

async function checkHost(asking: Asking, domain: string): Promise<SpfResult> {
  const answer = await asking.resolver.resolve(domain, 'TXT', { signal: asking.signal })
  if (answer.kind === 'failed') throw new SpfError('temperror')
  const texts = answer.kind === 'records' ? answer.records : []
  const records = texts.filter(isSpfRecord)
  const [text] = records
  if (text === undefined) return 'none'
  const record = records.length === 1 ? parseSpf(text) : null
  if (record === null) throw new SpfError('permerror')
  for (const mechanism of record.mechanisms) {
    if (await matches(asking, domain, mechanism)) return RESULTS[mechanism.qualifier]
  }
  if (record.redirect === undefined) return 'neutral'
  count(asking)
  const result = await checkHost(asking, targetOf(asking, domain, record.redirect))
  if (result === 'none') throw new SpfError('permerror')
  return result
}

const RESULTS: Readonly<Record<SpfQualifier, SpfResult>> = {
  '+': 'pass',
  '-': 'fail',
  '~': 'softfail',
  '?': 'neutral',
}

async function matches(asking: Asking, domain: string, mechanism: Mechanism): Promise<boolean> {
  switch (mechanism.kind) {
    case 'all':
      return true
    case 'ip':
      return blockHolds(mechanism.block, asking.address)
    case 'include':
      return await included(asking, targetOf(asking, domain, mechanism.target))
    case 'a':
      count(asking)
      return await hasAddress(asking, targetOf(asking, domain, mechanism.target), mechanism, true)
    case 'mx':
      count(asking)
      return await hasMailHost(asking, targetOf(asking, domain, mechanism.target), mechanism)
    case 'exists': {
      count(asking)
      const target = targetOf(asking, domain, mechanism.target)
      return (await records(asking, target, 'A', true)).length > 0
    }
    case 'ptr':
      count(asking)
      return await hasName(asking, targetOf(asking, domain, mechanism.target))
  }
}

async function included(asking: Asking, target: string): Promise<boolean> {
  count(asking)
  const result = await checkHost(asking, target)
  // A missing record is an error of the one that includes it (RFC 7208 section 5.2).
  if (result === 'none') throw new SpfError('permerror')
  return result === 'pass'
}

interface Prefixes {
  readonly prefix4: number
  readonly prefix6: number
}

async function hasAddress(
  asking: Asking,
  name: string,
  prefixes: Prefixes,
  isTerm: boolean,
): Promise<boolean> {
  const isVersion4 = asking.address.version === 4
  const addresses = await records(asking, name, isVersion4 ? 'A' : 'AAAA', isTerm)
  const prefix = isVersion4 ? prefixes.prefix4 : prefixes.prefix6
  return addresses.some((address) => {
    const block = parseBlock(`${address}/${prefix}`)
    return block !== null && blockHolds(block, asking.address)
  })
}

async function hasMailHost(asking: Asking, name: string, prefixes: Prefixes): Promise<boolean> {
  const hosts = await records(asking, name, 'MX', true)
  const named = hosts.filter(({ exchange }) => exchange !== '.')
  if (named.length > MOST_HOSTS) throw new SpfError('permerror')
  for (const { exchange } of named) {
    if (await hasAddress(asking, exchange, prefixes, false)) return true
  }
  return false
}

/**
 * Whether the reverse name of the address is below the target and resolves back to it (RFC 7208
 * section 5.5).
 */
async function hasName(asking: Asking, target: string): Promise<boolean> {
  const { resolver, signal } = asking
  const answer = await resolver.resolve(pointerName(bytesOf(asking.address)), 'PTR', { signal })
  if (answer.kind === 'nodata' || answer.kind === 'nxdomain') countVoid(asking)
  const names = answer.kind === 'records' ? answer.records.slice(0, MOST_HOSTS) : []
  const under = names.filter((name) => name === target || name.endsWith(`.${target}`))
  for (const name of under) {
    const type = asking.address.version === 4 ? 'A' : 'AAAA'
    const back = await resolver.resolve(name, type, { signal })
    if (back.kind !== 'records') continue
    if (back.records.some((text) => parseAddress(text)?.value === asking.address.value)) return true
  }
  return false
}

async function records<T extends 'A' | 'AAAA' | 'MX'>(
  asking: Asking,
  name: string,
  type: T,
  isTerm: boolean,
): Promise<readonly RecordOf[T][]> {
  const answer = await asking.resolver.resolve(name, type, { signal: asking.signal })
  switch (answer.kind) {
    case 'records':
      return answer.records
    case 'failed':
      throw new SpfError('temperror')
    case 'nodata':
    case 'nxdomain':
      if (isTerm) countVoid(asking)
      return []
  }
}

function count(asking: Asking): void {
  asking.lookups += 1
  if (asking.lookups > MOST_LOOKUPS) throw new SpfError('permerror')
}

function countVoid(asking: Asking): void {
  asking.voids += 1
  if (asking.voids > MOST_VOID_LOOKUPS) throw new SpfError('permerror')
}

function targetOf(asking: Asking, domain: string, spec: string | undefined): string {
  if (spec === undefined) return domain
  const { sender, helo } = asking.from
  const name = expandMacros(spec, { sender, helo, domain, address: asking.address })
  if (name === null) throw new SpfError('permerror')
  return name.replace(/\.$/, '').toLowerCase()
}
