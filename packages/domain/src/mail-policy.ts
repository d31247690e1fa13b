import type { Resolver } from '@plumbline/net/resolver'
import { findDmarc } from './dmarc.ts'

/** Which servers a domain allows to send in its name; null if DNS failed. */
export interface MailPolicy {
  /** Whether a record that begins with `v=spf1` exists, valid or not. */
  readonly spfFound: boolean | null
  /**
   * Whether there is exactly one such record; two are an error to every receiver (RFC 7208 section
   * 4.5).
   */
  readonly spfValid: boolean | null
  readonly dmarcFound: boolean | null
  /** `none`, `quarantine` or `reject`; null without a record or a policy. */
  readonly dmarcPolicy: string | null
  /**
   * The domain that publishes the record: the name itself, or the organizational domain above it.
   */
  readonly dmarcDomain: string | null
}

/** Queries SPF (RFC 7208) of the name and DMARC (RFC 9989) by its tree walk. */
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
