import type { ReplyRule } from './reply-rules.ts'

/** What a refusal is about, where it is about one mailbox. */
const WHO = '(?:mail ?box|inbox|account|address|user|recipient|customer|subscriber|e-?mail)'

/** States of a mailbox that pass where the reply says so. */
const STATES =
  '(?:locked|blocked|frozen|closed|held|disabled|suspended|de-?activated|inactive|restricted|inaccessible)'

const FOR_NOW =
  '(?:temporar(?:y|ily)|for (?:now|the moment|a (?:while|moment|short)|\\d{1,4} ?(?:s|m(?!on)|h))|until|momentarily|pending|(?:migration|maintenance|move|backup) in progress|re-?try|try (?:again|later)|(?:by|due to|for|during|while) (?:an? |the )?(?:other |another )?(?:process|session|migration|maintenance|mov|backup|restor|repair|index))'

/**
 * Replies with a permanent code for a state that passes, or for a fault behind the server. They
 * stand before what is said of the mailbox: a server whose directory fails also says "user unknown".
 */
export const TEMPORARY_RULES: readonly ReplyRule[] = [
  {
    id: 'name-server',
    kind: 'server',
    text: /\bservfail\b|\b(?:name ?-?servers?|name service|dns(?: server| query| lookup)?|resolver|dnssec)\b[^.;()]{0,30}(?:error|fail|bogus|time[d-]? ?out|unavailable|refused|unreachable|problem|trouble|did(?: not|n't) (?:respond|answer|reply)|not respon)|host ?name lookup failure|lookup (?:timed? ?out|did not complete|deferred|failure)|error (?:from|at|of) (?:the )?name ?-?server|host not found,? (?:please )?try again|query refused|temporar(?:y|ily) (?:dns|name|resol|lookup)/,
    source: 'RFC 2308 section 7, RFC 8914; Sendmail, Postfix and Exim texts for a failed look-up',
  },
  {
    id: 'directory-fault',
    kind: 'server',
    text: /\b(?:directory|ldap|database|sql|back-?end|user ?db)(?: server| service| connection| query| host)?[ :]{0,2}(?:is |was |has )?(?:error|failure|not (?:available|responding|reachable)|unavailable|unreachable|time[d-]? ?out|down|offline|connection (?:lost|refused|failed)|lost|busy)/,
    source: 'Exim, Postfix and Dovecot texts where a table cannot be read',
  },
  { id: 'routing-code', kind: 'server', enhanced: /^[45]\.4\.3$/, source: 'RFC 3463 3.5' },
  {
    id: 'not-now',
    kind: 'server',
    text: /\b(?:can ?not|can't|unable|could not|couldn't|unavailable|not available)\b[^.;]{0,60}\b(?:at (?:this|the) (?:time|moment)|right now|at present)\b/,
    source: 'Exim and gateway texts for a check that could not be made',
  },
  {
    id: 'on-hold',
    kind: 'held',
    text: /\bon[ -]hold\b|\b(?:is|been|being|are|mailbox|account) held\b|\bunder (?:investigation|review|maintenance)\b|\b(?:being|be|currently) (?:migrated|moved|restored|rebuilt|repaired)\b|(?:mail ?box|account) (?:is )?(?:currently )?busy\b|\blocked by (?!(?:the |an? |your |its |our )?(?:admin|owner|operator|postmaster|policy|staff|provider|system|isp))/,
    source: 'texts of hosters that hold the mail of an account back',
  },
  {
    id: 'locked-for-now',
    kind: 'held',
    text: new RegExp(
      `${WHO}[^.;]{0,50}${STATES}[^.;]{0,40}\\b${FOR_NOW}|${FOR_NOW}[^.;]{0,30}${STATES}`,
    ),
    source: 'RFC 5321 4.2.1: what passes wants a 4xx, and many servers say 550',
  },
]
