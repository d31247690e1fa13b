import type { EmailLists } from '@plumbline/email/domain-cache'
import type { DomainEngineOptions } from '@plumbline/domain/engine'
import { follow } from '@plumbline/datasets/follow'
import { loadNames, loadRanges, stampOf } from '@plumbline/datasets/load'
import { judgeDomain, loadMailDomainLists } from '@plumbline/datasets/mail-domains'
import type { Log } from '@plumbline/ports/log'

/** How often the folder is checked for a change. */
const CHECK_MS = 30_000

/** Reference lists that are reloaded when their files change. */
export interface FollowedLists<Lists> extends Disposable {
  /** The newest version that could be loaded; the same object until the files change. */
  current(): Lists
}

/**
 * Reads reference lists from a folder (null: the packaged ones) and follows changes of its files.
 */
export async function followLists<Lists>(
  dir: string | null,
  load: (dir: string | null) => Promise<Lists>,
  log: Log,
): Promise<FollowedLists<Lists>> {
  const followed = await follow(
    () => stampOf(dir),
    () => load(dir),
  )
  let lastFault: string | null = null
  const check = async (): Promise<void> => {
    const before = followed.value
    await followed.refresh()
    const { value, fault } = followed
    if (value !== before) log.info({}, 'reference lists reloaded')
    if (fault !== null && fault !== lastFault)
      log.warn({ fault }, 'reference lists could not be reloaded; the old ones stay')
    lastFault = fault
  }
  const timer = setInterval(() => void check(), CHECK_MS)
  timer.unref()
  return { current: () => followed.value, [Symbol.dispose]: () => clearInterval(timer) }
}

/** The lists by which addresses are flagged. */
export async function loadEmailLists(dir: string | null): Promise<EmailLists> {
  const [mailDomains, role, spamTrap, optOut] = await Promise.all([
    loadMailDomainLists(dir),
    loadNames(dir, 'role'),
    loadNames(dir, 'spam-trap'),
    loadNames(dir, 'opt-out'),
  ])
  return { ...mailDomains, role, spamTrap, optOut }
}

type DomainLists = Pick<DomainEngineOptions, 'disposable' | 'parkingNs' | 'parkingIp'>

/** The lists by which domains are flagged. */
export async function loadDomainLists(dir: string | null): Promise<DomainLists> {
  const [mailDomains, parkingNs, parkingIp] = await Promise.all([
    loadMailDomainLists(dir),
    loadNames(dir, 'parking-ns'),
    loadRanges(dir, 'parking-ip'),
  ])
  const disposable: DomainLists['disposable'] = {
    has: (domain, mxHosts) => judgeDomain(domain, mxHosts, mailDomains).disposable,
  }
  return { disposable, parkingNs, parkingIp }
}

/** The lists as one object that always uses the newest version. */
export function followedDomainLists({ current }: FollowedLists<DomainLists>): DomainLists {
  return {
    disposable: { has: (domain, mxHosts) => current().disposable.has(domain, mxHosts) },
    parkingNs: { has: (name) => current().parkingNs.has(name) },
    parkingIp: { has: (address) => current().parkingIp.has(address) },
  }
}
