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

/** One row: every condition that stands must hold; the first row that holds decides. */
export interface ReplyRule {
  readonly id: string
  readonly kind: ReplyKind
  readonly provider?: string
  /** Class of the reply, 4 or 5; absent for both. */
  readonly severity?: 4 | 5
  readonly enhanced?: RegExp
  /** Codes that the row is not for. */
  readonly notEnhanced?: RegExp
  /** Over the lower-case text of one line with mail addresses masked as `someone@host`. */
  readonly text?: RegExp
  readonly source: string
}
