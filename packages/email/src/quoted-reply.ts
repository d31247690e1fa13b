/** The reply of the server that a call-out asked. */
export interface QuotedReply {
  readonly code: number
  readonly text: string
}

/** Words of a server that asked another one about the recipient before it answered. */
const CALLOUT =
  /\bcall-?(?:out|ahead|forward|back)\b|\bverif(?:y|ied|ication)\b|\bun(?:deliverable|verified) address\b|\b(?:refused|rejected) by \S{1,100} ?:/

/** A call-out may also have asked about the sender; then its answer is none about the recipient. */
const ABOUT_SENDER = /sender|originator|mail ?from|from address|(?:return|reverse)[ -]path|\byour\b/

/** A code in the place where another server's words begin: `said: 550-550 5.1.1 …`. */
const QUOTE =
  /(?:[:"'(]|\b(?:said|says|was|with|response|returned|replied|responded|answered)) ?["'(]? ?([45]\d\d)[ -](?:\1[ -])*/

/** The reply that a call-out quotes, which decides; null where there is none. Takes lower case. */
export function quotedReply(text: string): QuotedReply | null {
  const called = CALLOUT.exec(text)
  if (called === null || ABOUT_SENDER.test(text)) return null
  const rest = text.slice(called.index)
  const met = QUOTE.exec(rest)
  if (met === null) return null
  return { code: Number(met[1]), text: rest.slice(met.index + met[0].length).trim() }
}
