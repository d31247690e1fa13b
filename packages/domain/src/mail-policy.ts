import type { Resolver } from '@plumbline/net/resolver'
import { findDmarc } from './dmarc.ts'

/** What a name says about who may send in its name; null if the DNS did not answer. */
export interface MailPolicy {
  /** A record that begins with `v=spf1` exists, be it valid or not. */
  readonly spfFound: boolean | null
  /** Exactly one such record; two are an error to every receiver (RFC 7208 section 4.5). */
  readonly spfValid: boolean | null
  readonly dmarcFound: boolean | null
  /** `none`, `quarantine` or `reject`; null without a record or a policy. */
  readonly dmarcPolicy: string | null
  /** Where the record stands: the name itself, or the organisational domain above it. */
  readonly dmarcDomain: string | null
}

/** Asks for SPF (RFC 7208) at the name and for DMARC (RFC 9989) by its walk up the tree. */
export async function lookUpMailPolicy(
  resolver: Resolver,
  name: string,
  signal: AbortSignal,
): Promise<MailPolicy> {
  const [spf, dmarc] = await Promise.all([
    lookUpSpf(resolver, name, signal),
    lookUpDmarc(resolver, name, signal),
  ])
  return { ...spf, ...dmarc }
}

type Spf = Pick<MailPolicy, 'spfFound' | 'spfValid'>
type Dmarc = Omit<MailPolicy, keyof Spf>

async function lookUpSpf(resolver: Resolver, name: string, signal: AbortSignal): Promise<Spf> {
  const answer = await resolver.resolve(name, 'TXT', { signal })
  if (answer.kind === 'failed') return { spfFound: null, spfValid: null }
  const texts = answer.kind === 'records' ? answer.records : []
  const count = texts.filter((text) => /^v=spf1(?: |$)/i.test(text)).length
  return { spfFound: count > 0, spfValid: count === 1 }
}

async function lookUpDmarc(resolver: Resolver, name: string, signal: AbortSignal): Promise<Dmarc> {
  const answer = await findDmarc(resolver, name, signal)
  switch (answer.kind) {
    case 'failed':
      return { dmarcFound: null, dmarcPolicy: null, dmarcDomain: null }
    case 'none':
      return { dmarcFound: false, dmarcPolicy: null, dmarcDomain: null }
    case 'record':
      return {
        dmarcFound: true,
        dmarcPolicy: answer.record.policy,
        dmarcDomain: answer.record.domain,
      }
  }
}
