import type { ParsedMailbox } from './syntax.ts'

/** Which local parts reach the same mailbox at a provider. */
interface AliasRule {
  /** The domain that stands for all domains of the provider; absent if they are distinct. */
  readonly canonical?: string
  readonly dropDots?: true
  /** The character that begins an ignored tag. */
  readonly tag: '+' | '-'
}

const GOOGLE: AliasRule = { canonical: 'gmail.com', dropDots: true, tag: '+' }
const PLUS: AliasRule = { tag: '+' }
const YAHOO: AliasRule = { tag: '-' }

/**
 * Sources, read 2026: support.google.com/mail/answer/7436150 (dots), 22370 (tags);
 * support.microsoft.com "Add or remove an email alias in Outlook.com" (plus addressing);
 * support.apple.com/guide/icloud (aliases and +); fastmail.help "Plus addressing";
 * proton.me/support/addresses-and-aliases; help.yahoo.com SLN28338 (base-keyword).
 */
const ALIAS_RULES: ReadonlyMap<string, AliasRule> = new Map([
  ...rows(GOOGLE, 'gmail.com googlemail.com'),
  ...rows(PLUS, 'outlook.com hotmail.com live.com msn.com hotmail.co.uk hotmail.fr outlook.fr'),
  ...rows(PLUS, 'outlook.de hotmail.de hotmail.es hotmail.it live.co.uk live.fr'),
  ...rows(PLUS, 'icloud.com me.com mac.com fastmail.com fastmail.fm hey.com'),
  ...rows(PLUS, 'proton.me protonmail.com protonmail.ch pm.me'),
  ...rows(YAHOO, 'yahoo.com ymail.com rocketmail.com yahoo.co.uk yahoo.fr yahoo.de yahoo.es'),
  ...rows(YAHOO, 'yahoo.it yahoo.ca yahoo.com.br yahoo.co.in yahoo.com.au'),
])

/**
 * The form by which duplicates are found: lower-case domain; for a known provider, lower-case local
 * part without the dots and tags that it ignores. Never the address that is probed.
 */
export function normalForm(mailbox: ParsedMailbox): string {
  const rule = ALIAS_RULES.get(mailbox.domain)
  if (rule === undefined || mailbox.quoted) return `${mailbox.local}@${mailbox.domain}`
  const lower = mailbox.local.toLowerCase()
  const name = withoutTag(rule.dropDots ? lower.replaceAll('.', '') : lower, rule.tag)
  return `${name}@${rule.canonical ?? mailbox.domain}`
}

/**
 * A local part that begins with the tag sign has no name before it to fall back on, and what ends
 * with a dot is no name.
 */
function withoutTag(local: string, tag: AliasRule['tag']): string {
  const tagAt = local.indexOf(tag)
  return tagAt > 0 && local[tagAt - 1] !== '.' ? local.slice(0, tagAt) : local
}

function rows(rule: AliasRule, domains: string): (readonly [string, AliasRule])[] {
  return domains.split(' ').map((domain) => [domain, rule] as const)
}
