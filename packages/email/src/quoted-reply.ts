/** The reply of the server that a call-out asked. */
export interface QuotedReply {
  readonly code: number
  readonly text: string
}

/** Words of a server that verified the recipient at another server (a call-out). */
const CALLOUT =
  /\bcall-?(?:out|ahead|forward|back)\b|\bverif(?:y|ied|ication)\b|\bun(?:deliverable|verified) address\b|\b(?:refused|rejected) by \S{1,100} ?:/

/**
 * A call-out may also have verified the sender; then its reply says nothing about the recipient.
 */
const ABOUT_SENDER = /sender|originator|mail ?from|from address|(?:return|reverse)[ -]path|\byour\b/

/** A code at the point where a quoted reply begins: `said: 550-550 5.1.1 …`. */
const QUOTE =
  /(?:[:"'(]|\b(?:said|says|was|with|response|returned|replied|responded|answered)) ?["'(]? ?([45]\d\d)[ -](?:\1[ -])*/

/** The reply that a call-out quotes, which decides; null if there is none. Takes lower case. */
export function quotedReply(text: string): QuotedReply | null {
  const called = CALLOUT.exec(text)
  if (called === null || ABOUT_SENDER.test(text)) return null
  const rest = text.slice(called.index)
  const match = QUOTE.exec(rest)
  if (match === null) return null
  return { code: Number(match[1]), text: rest.slice(match.index + match[0].length).trim() }
}
