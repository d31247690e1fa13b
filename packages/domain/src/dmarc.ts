import type { Resolver } from '@plumbline/net/resolver'

/** The DMARC record that applies to a name. */
export interface DmarcRecord {
  /** `none`, `quarantine` or `reject`; null if the record has no such policy. */
  readonly policy: string | null
  /** The domain that publishes it. */
  readonly domain: string
}

/** Result of a query: a record, none, or a DNS failure. */
export type DmarcAnswer =
  | { readonly kind: 'record'; readonly record: DmarcRecord }
  | { readonly kind: 'none' | 'failed' }

/**
 * For a name of eight labels or more, the name itself is queried, then its last seven labels (RFC
 * 9989 section 4.10).
 */
const MOST_LABELS = 7

/**
 * The record of a name: its own, else that of its organizational domain, else that of the public
 * suffix above it, found by the DNS tree walk. Source: RFC 9989 sections 4.7 and 4.10.
 */
export async function findDmarc(
  resolver: Resolver,
  name: string,
  signal: AbortSignal,
): Promise<DmarcAnswer> {
  const found: Published[] = []
  for (const domain of walk(name)) {
    const answer = await resolver.resolve(`_dmarc.${domain}`, 'TXT', { signal })
    if (answer.kind === 'failed') {
      // The record of the name itself applies, whatever its parents have.
      return found[0]?.domain === name ? recordOf(found[0]) : { kind: 'failed' }
    }
    const texts = answer.kind === 'records' ? answer.records.filter(isDmarc) : []
    const [text] = texts
    // Several records count as none.
    if (text === undefined || texts.length > 1) continue
    const published = { domain, tags: tagsOf(text) }
    found.push(published)
    if (/^[yn]$/.test(published.tags.get('psd') ?? '')) break
  }
  const holds = choose(name, found)
  return holds === undefined ? { kind: 'none' } : recordOf(holds)
}

interface Published {
  readonly domain: string
  readonly tags: ReadonlyMap<string, string>
}

function* walk(name: string): Generator<string, void, undefined> {
  let labels = name.split('.')
  while (labels.length > 0) {
    const domain = labels.join('.')
    if (domain.length <= 246) yield domain
    labels = labels.length > MOST_LABELS ? labels.slice(-MOST_LABELS) : labels.slice(1)
  }
}

/**
 * Chooses from the records found, sorted by length of the name; one that ends the walk is the last.
 */
function choose(name: string, found: readonly Published[]): Published | undefined {
  const [first] = found
  if (first?.domain === name) return first
  const last = found.at(-1)
  if (last?.tags.get('psd') !== 'y') return last
  // The organisational domain is the one just below the public suffix.
  const depth = last.domain.split('.').length + 1
  const organisational = name.split('.').slice(-depth).join('.')
  return found.find(({ domain }) => domain === organisational) ?? last
}

/** The version tag must come first and in capitals; blanks around its `=` are allowed. */
function isDmarc(text: string): boolean {
  return /^v[ \t]*=[ \t]*DMARC1[ \t]*(?:;|$)/.test(text.trim().replace(/^V/, 'v'))
}

/** Of a duplicate tag the last counts. */
function tagsOf(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split(';').flatMap((part): [string, string][] => {
      const at = part.indexOf('=')
      if (at < 1) return []
      return [
        [
          part.slice(0, at).trim().toLowerCase(),
          part
            .slice(at + 1)
            .trim()
            .toLowerCase(),
        ],
      ]
    }),
  )
}

const POLICIES: readonly string[] = ['none', 'quarantine', 'reject']

function recordOf({ domain, tags }: Published): DmarcAnswer {
  const policy = POLICIES.find((known) => known === tags.get('p')) ?? null
  return { kind: 'record', record: { policy, domain } }
}
