import { REPLY_WORDS } from './reply-words.ts'

/** What a reply to RCPT says. */
export type ReplyKind =
  /** The mailbox does not exist, said in so many words. */
  | 'missing'
  /** The same by a code or words that the source uses for little else. */
  | 'likely_missing'
  | 'disabled'
  /** The mailbox is locked or held back for a time. */
  | 'held'
  | 'full'
  /** A refusal that proves the mailbox: a rate or a restriction of its own. */
  | 'exists'
  /** The recipient's own choice or filter: exists or not, nothing is proven. */
  | 'filtered'
  | 'no_domain'
  | 'no_mail'
  | 'blocked'
  | 'relay'
  | 'greylist'
  | 'rate'
  | 'server'
  | 'smtputf8'
  | 'unclassified'

/**
 * Phrases of a rule, each with a reply it stands in, met or published: as a whole or, where a collection
 * of bounces keeps no more, the words that it keeps. Null is for the few that a comment accounts for. A
 * phrase is a regular expression over the lower-case text of one line with mail addresses masked as
 * `someone@host`; `{name}` in it stands for any word of that set of `REPLY_WORDS`. Spellings of one phrase
 * share its row.
 */
export type Phrases = Readonly<Record<string, string | readonly string[] | null>>

/** One rule: every condition that it has must hold; the first rule that holds decides. */
export interface ReplyRule {
  readonly id: string
  readonly kind: ReplyKind
  readonly provider?: string
  /** Class of the reply, 4 or 5; absent for both. */
  readonly severity?: 4 | 5
  readonly enhanced?: RegExp
  /** Codes that the rule is not for. */
  readonly notEnhanced?: RegExp
  /** Any of them must be in the text. */
  readonly phrases?: Phrases
  /** A pattern that is made of tables of its own, in the place of phrases. */
  readonly pattern?: RegExp
  readonly source: string
}

/** A rule as replies are matched with it. All have every field, so that matching meets one shape of object. */
export interface CompiledRule extends Pick<ReplyRule, 'id' | 'kind' | 'source'> {
  readonly provider: string | undefined
  readonly severity: 4 | 5 | undefined
  readonly enhanced: RegExp | undefined
  readonly notEnhanced: RegExp | undefined
  /** One pattern of all phrases. */
  readonly text: RegExp | undefined
  readonly phrases: Phrases | undefined
}

/** Makes one pattern of all phrases of a rule. Throws where a phrase names a set of words that there is not. */
export function compileRule(rule: ReplyRule): CompiledRule {
  const { id, kind, provider, severity, enhanced, notEnhanced, phrases, pattern, source } = rule
  const text =
    phrases === undefined ? pattern : new RegExp(Object.keys(phrases).map(expanded).join('|'))
  return { id, kind, provider, severity, enhanced, notEnhanced, text, phrases, source }
}

/** A phrase with its sets of words written out. */
export function expanded(phrase: string): string {
  return phrase.replaceAll(/\{([a-z-]+)\}/g, (_, name: string) => {
    const words = REPLY_WORDS[name]
    if (words === undefined) throw new Error(`phrase: expected a set of words, met {${name}}`)
    return `(?:${words.join('|')})`
  })
}
