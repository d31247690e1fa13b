import { domainToASCII } from 'node:url'
import type { EmailStatus } from '@plumbline/contract/outcome'
import type { Depth } from '@plumbline/contract/products'
import type { Reason } from '@plumbline/contract/reasons'
import { UNSAFE_HOSTS } from '../dns/faults.ts'
import type { WorldTable } from './table.ts'
import type { Domain, MailHost } from './domain.ts'
import { mailboxState } from './mailbox.ts'
import { ROLE_NAMES } from './names.ts'

/** The result of a perfect verifier for an address. */
export interface ExpectedEmail {
  readonly status: EmailStatus
  /** Absent if several reasons are equally right. */
  readonly reason?: Reason<'email'>
  /** Other correct statuses, for a verifier that is more cautious or more persistent. */
  readonly alternatives: readonly EmailStatus[]
  /** Whether the address is greylisted first; the result is that after the wait. */
  readonly waits: boolean
  /** Null if it cannot be determined. */
  readonly mxFound: boolean | null
  readonly smtpValid: boolean | null
  readonly catchAll: boolean
  readonly disposable: boolean
  readonly free: boolean
  readonly role: boolean
}

/** DNS faults in spite of which a resolver finds the mail hosts. */
const OVERCOME = new Set(['mx-is-alias', 'wrong-id-first', 'tcp-only', 'thousand-txt', 'late'])
/** DNS faults because of which a domain has no usable mail host. */
const NO_HOST = new Set([
  'cname-to-nowhere',
  'mx-to-nowhere',
  'mx-is-address',
  'mx-is-localhost',
  'mx-name-too-long',
  'mx-with-blank',
  'null-mx-and-others',
  'thousand-mx',
  'answers-for-others',
])
const UNSAFE = new Set(['mx-private', 'mx-metadata'])
/** SMTP faults after which a recipient may count as accepted: a TLS error, or an ambiguous reply. */
const MAYBE_ACCEPTED =
  /^(tls-|split-replies|rcpt-bare-cr|all-replies-early|banner-twice|rcpt-nul|banner-nul|ehlo-mixed|ehlo-3xx|ehlo-many|ehlo-long)/

/** The expected result for an address; with depth `extended`, accept-all is known from a second probe. */
export function expectEmail(
  world: WorldTable,
  address: string,
  depth: Depth = 'extended',
): ExpectedEmail {
  const at = address.lastIndexOf('@')
  const local = address.slice(0, at)
  const typed = address.slice(at + 1).toLowerCase()
  const name = domainToASCII(typed) || typed
  const role = (ROLE_NAMES as readonly string[]).includes(local.toLowerCase().replace(/\+.*/, ''))
  const base = {
    alternatives: [],
    waits: false,
    mxFound: false,
    smtpValid: false,
    catchAll: false,
    disposable: false,
    free: false,
    role,
  }
  if (at < 1 || !looksValid(local, name))
    return { ...base, status: 'undeliverable', reason: 'invalid_syntax' }
  const domain = world.findDomain(name)
  if (domain === undefined || domain.undelegated === true)
    return { ...base, status: 'undeliverable', reason: 'no_domain' }
  const known = { ...base, disposable: domain.disposable === true, free: domain.free === true }
  const broken = expectDnsFault(domain)
  if (broken !== undefined) return { ...known, ...broken }
  const { mail } = domain
  if (mail.kind === 'none' && domain.address === undefined)
    return { ...known, status: 'undeliverable', reason: 'no_mail_host' }
  if (mail.kind === 'null-mx') return { ...known, status: 'undeliverable', reason: 'null_mx' }
  const host = firstAlive(world, domain)
  const withMx = { ...known, mxFound: mail.kind === 'mx' }
  // An address without a listener: no mail is accepted, but it may be later.
  if (host?.profile === undefined)
    return {
      ...withMx,
      smtpValid: null,
      status: 'unknown',
      reason: 'connect_failed',
      alternatives: ['undeliverable'],
    }
  return { ...withMx, ...expectSession(world, domain, host, local, depth) }
}

type Part = Partial<ExpectedEmail> & Pick<ExpectedEmail, 'status'>

function expectDnsFault(domain: Domain): Part | undefined {
  const fault = domain.dnsFault
  if (fault === undefined || OVERCOME.has(fault)) return undefined
  if (UNSAFE.has(fault))
    return { status: 'unknown', reason: 'unsafe_host', mxFound: true, smtpValid: null }
  if (NO_HOST.has(fault))
    return { status: 'unknown', alternatives: ['undeliverable'], mxFound: null, smtpValid: null }
  return { status: 'unknown', reason: 'dns_failed', mxFound: null, smtpValid: null }
}

function expectSession(
  world: WorldTable,
  domain: Domain,
  host: MailHost,
  local: string,
  depth: Depth,
): Part {
  const { profile } = host
  if (profile === undefined) return { status: 'unknown' }
  if (profile.fault !== undefined) {
    const alternatives: readonly EmailStatus[] = MAYBE_ACCEPTED.test(profile.fault)
      ? ['deliverable', 'risky']
      : []
    return { status: 'unknown', alternatives, smtpValid: null }
  }
  if (profile.refusal !== undefined)
    return { status: 'unknown', reason: 'blocked', smtpValid: null }
  const waits = profile.greylistSeconds !== undefined
  const shaky: readonly EmailStatus[] = profile.brokenTls === undefined ? [] : ['unknown']
  if (profile.rejectsAll !== undefined)
    return {
      status: 'unknown',
      // One recipient cannot show that all get the same reply.
      alternatives: ['undeliverable'],
      smtpValid: null,
    }
  if (/[^\x20-\x7e]/.test(local) && !profile.capabilities.includes('SMTPUTF8')) {
    return {
      status: 'undeliverable',
      reason: 'smtputf8_unsupported',
      alternatives: ['unknown'],
      smtpValid: null,
    }
  }
  if (profile.acceptsAll === true || domain.acceptsAll === true)
    return { ...expectAcceptAll(profile.name, depth), waits, catchAll: true }
  const state = mailboxState(world.seed, local, domain.name, profile.ignoreDots === true)
  switch (state) {
    case 'exists':
      return {
        status: 'deliverable',
        reason: 'accepted',
        smtpValid: true,
        waits,
        alternatives: shaky,
      }
    case 'missing':
      return { status: 'undeliverable', reason: 'mailbox_not_found', waits, alternatives: shaky }
    case 'disabled':
      return { status: 'undeliverable', reason: 'mailbox_disabled', waits, alternatives: shaky }
    case 'full':
      return { status: 'risky', reason: 'mailbox_full', waits, alternatives: shaky }
    case 'busy':
      return {
        status: 'risky',
        reason: 'accepted_exists',
        waits,
        alternatives: ['unknown', 'deliverable'],
      }
  }
}

function expectAcceptAll(profileName: string, depth: Depth): Part {
  if (profileName === 'yahoo')
    return { status: 'risky', reason: 'accept_means_nothing', smtpValid: true }
  if (depth === 'extended') return { status: 'risky', reason: 'accept_all', smtpValid: true }
  // Without the probe of an invented recipient this cannot be known, except from a cache.
  return { status: 'deliverable', alternatives: ['risky'], smtpValid: true }
}

function firstAlive(world: WorldTable, domain: Domain): MailHost | undefined {
  const { mail } = domain
  if (mail.kind === 'implicit') return world.hosts.get(mail.host)
  if (mail.kind !== 'mx') return undefined
  for (const { host } of mail.exchanges) {
    const found = world.hosts.get(host) ?? bulkHost(world, host)
    if (found?.profile !== undefined && !UNSAFE_HOSTS.has(host)) return found
  }
  return undefined
}

function bulkHost(world: WorldTable, name: string): MailHost | undefined {
  const address = world.bulk?.address(name)
  return world.bulk?.hosts.find((host) => host.address === address)
}

/** Whether an address is valid, for the forms that the world has: dot-atoms and plain quoted strings. */
function looksValid(local: string, name: string): boolean {
  if (local.length > 64 || local.length + name.length > 253) return false
  const atoms = /^[^\s"(),:;<>@[\\\]\p{Cc}.]+(?:\.[^\s"(),:;<>@[\\\]\p{Cc}.]+)*$/u
  if (!atoms.test(local) && !/^"[^"\\\r\n]{1,62}"$/.test(local)) return false
  return /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/.test(name)
}
