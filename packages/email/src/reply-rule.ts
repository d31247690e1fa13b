import { REPLY_WORDS } from './reply-words.ts'

/** What a reply to RCPT says. */
export type ReplyKind =
  /** The mailbox does not exist, stated explicitly. */
  | 'missing'
  /** Probably missing: by a code or words that servers use for little else. */
  | 'likely_missing'
  | 'disabled'
  /** The mailbox is locked or suspended for a time. */
  | 'held'
  | 'full'
  /** A refusal that proves that the mailbox exists: a rate limit or restriction of its own. */
  | 'exists'
  /** Rejected by a filter or choice of the recipient: proves nothing about existence. */
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
 * Phrases of a rule, each with an observed or published reply that contains it, or with the part of
 * the reply that a collection of bounces has. Null if none was found; a comment then says why the
 * phrase is kept. A phrase is a regular expression over the lower-case text of one line, with mail
 * addresses masked as `someone@host`; `{name}` stands for any word of that set of `REPLY_WORDS`.
 */
export type Phrases = Readonly<Record<string, string | readonly string[] | null>>

/** One rule: all of its conditions must hold; the first rule that matches decides. */
export interface ReplyRule {
  readonly id: string
  readonly kind: ReplyKind
  readonly provider?: string
  /** Class of the reply, 4 or 5; absent for both. */
  readonly severity?: 4 | 5
  readonly enhanced?: RegExp
  /** Enhanced codes that the rule does not apply to. */
  readonly notEnhanced?: RegExp
  /** At least one of the phrases must be in the text. */
  readonly phrases?: Phrases
  /** A pattern built from a table, in place of phrases. */
  readonly pattern?: RegExp
  readonly source: string
}

/**
 * A rule in the form used for matching. All objects have every field, so that they share one hidden
 * class.
 */
export interface CompiledRule extends Pick<ReplyRule, 'id' | 'kind' | 'source'> {
  readonly provider: string | undefined
  readonly severity: 4 | 5 | undefined
  readonly enhanced: RegExp | undefined
  readonly notEnhanced: RegExp | undefined
  /** All phrases as one pattern. */
  readonly text: RegExp | undefined
  readonly phrases: Phrases | undefined
}

/**
 * Compiles all phrases of a rule into one pattern.
 *
 * @throws if a phrase refers to an unknown set of words
 */
export function compileRule(rule: ReplyRule): CompiledRule {
  const { id, kind, provider, severity, enhanced, notEnhanced, phrases, pattern, source } = rule
  const text =
    phrases === undefined ? pattern : new RegExp(Object.keys(phrases).map(expanded).join('|'))
  return { id, kind, provider, severity, enhanced, notEnhanced, text, phrases, source }
}

/** A phrase with its word sets expanded. */
export function expanded(phrase: string): string {
  return phrase.replaceAll(/\{([a-z-]+)\}/g, (_, name: string) => {
    const words = REPLY_WORDS[name]
    if (words === undefined) throw new Error(`phrase: expected a set of words, got {${name}}`)
    return `(?:${words.join('|')})`
  })
}
