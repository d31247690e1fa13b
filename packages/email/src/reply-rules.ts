import { FOREIGN_RULES } from './foreign-rules.ts'
import { PROVIDER_RULES } from './provider-rules.ts'
import type { ReplyRule } from './reply-rule.ts'

const GOOGLE = 'support.google.com/a/answer/3726730, read 2026'
const SISIMAI = 'real bounces of sisimai/set-of-emails (BSD-2)'
const POSTFIX = 'Postfix 3.x: postconf(5), smtpd(8) replies'
const EXIM = 'Exim 4.x: spec, access control lists'
const SENDMAIL = 'sendmail 8.x: cf/README and err.c replies'
const QMAIL = 'qmail 1.03 and netqmail: qmail-smtpd, vpopmail vdelivermail'
const RFC3463 = 'RFC 3463 3 and the IANA registry of enhanced status codes'
const RFC5321 = 'RFC 5321 4.2.2, 4.2.3'

/** Codes that speak of the sender whatever the words beside them are. */
const SENDER_CODE_RULES: readonly ReplyRule[] = [
  { id: 'sender-code', kind: 'blocked', enhanced: /^[45]\.1\.[789]$/, source: RFC3463 },
]

/** A rate or restriction that is the mailbox's own. */
const EXISTS_RULES: readonly ReplyRule[] = [
  {
    id: 'rate-of-user',
    kind: 'exists',
    text: /(?:user|account|recipient|mailbox)[^.]{0,60} receiving (?:e-?)?mail (?:at a rate|too quickly|too fast)|(?:user|account|recipient|mailbox)[^.]{0,30} exceeded (?:his |her |its |their |the )?(?:message |mail )?rate limit/,
    source: GOOGLE,
  },
  {
    id: 'only-members',
    kind: 'filtered',
    text: /only accept(?:s|ing)? (?:e-?)?mail from|may not exist, or you may not have permission|only (?:internal|authenticated|registered) (?:senders|users)|not accepting mail from (?:you|this sender|unknown)|has restricted (?:sms )?e-?mail/,
    source: SISIMAI,
  },
]

/** Refusals of the sender that no word about a mailbox can outweigh. */
const SENDER_RULES: readonly ReplyRule[] = [
  {
    id: 'greylist',
    kind: 'greylist',
    text: /gr[ea]y-?(?: )?list|postgrey|milter-?greylist|deferred for (?:spam|a few)|graylist/,
    source: 'postgrey, milter-greylist and Barracuda texts',
  },
  {
    id: 'smtputf8',
    kind: 'smtputf8',
    text: /smtputf8|non-ascii addresses? (?:not|isn)|internationali[sz]ed (?:addresses|mailbox)/,
    source: 'RFC 6531 3.2 and 3.5; enhanced code 5.6.7',
  },
  {
    id: 'sender-address',
    kind: 'blocked',
    text: /sender(?:'?s)?(?: e-?mail| mail)? (?:address|domain|mail ?box|account|verif|call-?(?:out|back|ahead)|is (?:block|reject|not)|rejected|denied|refused|not |blocked|ip\b|id\b|host|policy|hostname|has been|was )|envelope sender|invalid (?:sender|sending)|unverified sender|originator|reverse[- ]path|sending address|(?:mailbox|address) of (?:the )?sender|(?:mail|message)s? from (?:an? )?(?:unknown|invalid|unverified|non-?exist)|(?:user|address|domain|mail ?box|syntax) in (?:the )?(?:mail ?from|mail|from)\b|(?:unknown|no such|nonexistent|unrecogni[sz]ed) sender|(?:allowed|permitted|authori[sz]ed) to send|(?:dns mx|mx) or a(?:\/aaaa)? resource|(?:block|reject)(?:ed|ing)? (?:the )?sender|(?:domain|part) of (?:the )?sender|sender.{0,80}(?:does not exist|do(?:es)? not resolve|couldn't be|cannot be|could not be|not found)|unroutable sender|bad sender|call-?back (?:to|of) (?:the )?sender|(?:from|return)[ -]?(?:path|address)|mail from:? ?(?:domain|address|command)|null sender|empty envelope|does not accept bounce|mailfrom|sending domain|from domain|your domain|your e-?mail (?:address|account)|your address|sending account|you are sending from|your account/,
    source: `${POSTFIX}; ${EXIM}`,
  },
  {
    id: 'blocklist-name',
    kind: 'blocked',
    text: /spamhaus|spamcop|barracuda(?:central|networks\.com\/reputation| reputation)|abusix|\bsorbs\b|cloudmark|senderbase|senderscore|uceprotect|invaluement|mailspike|nixspam|backscatterer|proofpoint\.com\/(?:dnsbl|ipcheck)|ipcheck|prs\.proofpoint|dnsbl|\brbls?\b|\bxbl\b|\bsbl\b|\bcbl\b|\bpbl\b|\bdul\b|\bcsi\.|0spam|manitu|njabl|\bivmsip/,
    source: 'names of DNS blocklists',
  },
  {
    id: 'blocklist-word',
    kind: 'blocked',
    text: /(?:black|block|deny|ban|bad|spam)[ -]?list(?:ed|ing|s)?\b|(?<!not )\blisted (?:in|at|by|on)\b|found in (?:one or more )?dns|\bbanned\b|blocking list/,
    source: SISIMAI,
  },
  {
    id: 'reputation',
    kind: 'blocked',
    text: /reputation|\bsbrs\b|trust ?score|spamming|suspicious|abusive|too much spam/,
    source: SISIMAI,
  },
  {
    id: 'reverse-dns',
    kind: 'blocked',
    text: /reverse[ -](?:dns|lookup|record|name|address|mapping|hostname)|\brdns\b|\bptrs?\b|(?:cannot|can't|could not|unable to) (?:find|resolve|verify|lookup|look up) your|(?<!user |mailbox |account |recipient |email address |alias )lookup failed|name (?:service|server) error for name|dynamic(?:ally)?[ -](?:ip|address|assigned|looking|host|range)|generic (?:host|rdns|ptr)|dial-?up|residential|host ?name (?:lookup|does not|not found|mismatch|verif)|ip (?:address )?(?:not resolv|does not resolve|has no)|no dns entry|unverifyable sending|unresolvable|fix (?:your )?(?:reverse|dns)|host rejected|client host|unable to resolve/,
    source: `${POSTFIX}; ${SISIMAI}`,
  },
  {
    id: 'authentication',
    kind: 'blocked',
    text: /\bspf\b|\bdkim\b|\bdmarc\b|sender policy framework|authenticat|smtp auth|auth (?:required|first)|not authori[sz]ed|unauthori[sz]ed|not permitted to send|not allowed to send|login first|pop before smtp|check-?pop|authori[sz]ation|password/,
    source: `${GOOGLE}; ${SISIMAI}`,
  },
  { id: 'helo', kind: 'blocked', text: /\behlo\b|\bhelo\b|fully[ -]qualified/, source: POSTFIX },
  {
    id: 'tls-needed',
    kind: 'blocked',
    text: /\btls (?:is )?(?:required|needed|encryption)|starttls (?:command )?(?:first|required)|must issue a starttls|encryption (?:needed|required)|encrypted connection/,
    source: `${GOOGLE}; RFC 3207`,
  },
  {
    id: 'too-fast',
    kind: 'rate',
    text: /too many (?:connections?|concurrent|sessions|messages|recipients|mails|e-?mails|errors|invalid|unknown|bad|requests|commands|failed|hops? from)|(?:rate|connection|frequency|volume|sending)[ -](?:limit|control|exceed)|message[ -](?:rate[ -])?limit|rate[ -]?limit|throttl|excessive|unusual rate|too (?:fast|frequent|quick)|quota for (?:your|sender|today)|exceeded (?:the )?(?:rate|maximum number|connection|sending|hourly|daily|your)|frequency|limit(?:s)? exceeded for (?:your|ip|host)|exceeded the .{0,20}(?:rate|connection)|messages? (?:per|from) .{0,60}(?:deferred|limit)|slow down|relay quota|max(?:imum)? (?:number of )?(?:connections?|messages?|recipients)|no more (?:connections|messages|recipients)|reached your|resources? restricted|deferred due to|unexpected volume|user complaints/,
    source: SISIMAI,
  },
  {
    id: 'our-address',
    kind: 'blocked',
    text: /(?:your|the|sending|client|source|remote|originating|connecting|this|from) ?(?:ip|ipv[46]|host|server|network|system|mta|smtp server|mail server|isp|provider|computer|country|machine|pc)\b.{0,60}(?:block|reject|den(?:y|ied)|ban|refus|not (?:allow|accept|permit|welcome)|prohibit|disallow|suspend|forbid|unacceptable|problem|blacklist)|(?:block|reject|den(?:y|ied)|refus|not accept)\w* .{0,40}(?:your (?:ip|host|server|network)|from (?:your|this|the) (?:ip|host|server|network)|connections? from|mail from \d|mail from your|from ip|from \[?\d{1,3}\.\d)|\bip[=: ]\s*\[?\d{1,3}(?:\.\d{1,3}){3}|ip address \[?\d{1,3}(?:\.\d{1,3}){3}|blocked ip|ip .{0,30}blocked|ip block|bad (?:ip|host)|host .{0,40}(?:is )?(?:blocked|refused|denied)|connection (?:refused|rejected|denied|blocked|dropped)|refused (?:connection|by)|not accept(?:ing)? (?:connections?|mail|e-?mails?|messages?) from|we do not accept|connections? (?:will )?not (?:be )?accepted|go away|no mail (?:from|accepted)|sending (?:ip|server|mta)|originating ip/,
    source: SISIMAI,
  },
  {
    id: 'your-own',
    kind: 'blocked',
    text: /\byour (?:mail |smtp |sending |own |dns |email |e-mail )?(?:ip|host|hostname|host name|mta|network|dns|helo|isp|server|mailserver|machine|computer)\b(?! (?:administrator|admin|provider|support))|\b(?:verification (?:service|attempt)|address (?:probing|verification service)|harvest|dictionary attack|namespace mining)/,
    source: `${SISIMAI}; in a reply to us "your" is ours`,
  },
  {
    id: 'content-proper',
    kind: 'blocked',
    text: /detected as spam|file ?names?\b|attachment|message-id|\bheaders?\b|from: header|subject:/,
    source: SISIMAI,
  },
  {
    id: 'relay',
    kind: 'relay',
    text: /relay(?:ing)?(?: access| attempt| mail| not|ing)? ?(?:was |is )?(?:denied|not (?:allowed|permitted|accepted|supported)|prohibited|rejected|refused|blocked|restricted|disallowed|forbidden|no[nt])|(?:unable|cannot|not|can't|won't|no|denied|unauthori[sz]ed|don'?t|open|prohibited|proper|permitted to|allowed to) (?:to )?relay|rcpthosts|not (?:a )?local (?:host|domain|address|to this)|relay(?:ing)? (?:is )?(?:from|to|through|for|by)|not (?:an? )?(?:open|mail) relay|not a gateway|local delivery only|(?:domain|host) (?:is )?not (?:hosted|local|served|accepted|handled|configured|found here|in my|allowed|listed|supported|in our|one of)|does not (?:accept|handle|host|serve|receive) (?:e-?mail|mail|messages) for(?! (?:that|this|the|such an?) (?:user|mail ?box|recipient|account|add?ress))|that domain isn't|no such domain (?:here|at this location)|don't (?:handle|accept|host) mail for|insecure mail relay|must be (?:sent|delivered) (?:to|through|via)|through this server/,
    source: `${POSTFIX}; ${SENDMAIL}; ${QMAIL}`,
  },
]

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
const TEMPORARY_RULES: readonly ReplyRule[] = [
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

/** What is said of the mailbox in so many words. */
const MAILBOX_RULES: readonly ReplyRule[] = [
  {
    id: 'full-text',
    kind: 'full',
    text: /(?:mailbox|inbox|account|user|recipient|mail ?folder|maildir|e-?mail|storage|disk ?space|disc|disk|message store|store)(?: <?someone@\S{1,100})?[^.;]{0,60}(?:\bfull\b|(?:over|exceed(?:s|ed|ing)?|out of|reached|exhausted|beyond) (?:its |his |her |his\/her |their |the |your |disk |mail |mailbox |maximum |allowed |allotted )*(?:quota|storage|space|size|limit|capacity))|(?:over|exceed(?:s|ed|ing)?|out of|reached|beyond|would exceed|violat\w+)[ -](?:its |his |the |their |disk |mail |mailbox |allowed |user |storage |of )*quota|quota (?:is )?(?:exceed|exhausted|full|violation|reached|limit|usage)|(?:disk|mail|mailbox|storage|user|disc|diskspace)[ -]?quota|full mailbox|\bmailbox[a-z ]{0,20} is full|(?:over|under) ?quota|\boverquota\b|no(?:t enough| more)? (?:storage |disk |free )?(?:space|storage)[^.;]{0,30}(?:mailbox|user|recipient|account)|boite du destinataire pleine|casella piena|buz[oó]n lleno|shutoffquota|mailbox size limit/,
    source: SISIMAI,
  },
  {
    id: 'full-storage',
    kind: 'full',
    severity: 5,
    text: /exceeded storage allocation/,
    source: RFC5321,
  },
  { id: 'full-code', kind: 'full', enhanced: /^[45]\.2\.2$/, source: RFC3463 },
  ...TEMPORARY_RULES,
  {
    id: 'storage-of-server',
    kind: 'server',
    text: /insufficient (?:system|disk|storage|resource)|system storage|no space left|mail system full|not enough (?:disk|storage|free)? ?(?:space|storage)|out of (?:memory|disk|space)|low on disk|not enough disk/,
    source: RFC5321,
  },
  {
    id: 'disabled-text',
    kind: 'disabled',
    severity: 5,
    text: /(?:mailbox|account|address|user|recipient|e-?mail|domain|service|boite|inbox|destinataire|customer|subscriber|alias|mail)[^.;<]{0,50}(?:\b(?:is|has been|was|are|currently|temporarily|permanently|been|administratively)? ?(?:disabled|suspended|deactivated|de-activated|inactive|frozen|terminated|locked|closed|discontinued|expired|cancell?ed|on hold|archived|archivee|retired|not active|unsubscribed|no longer active|blocked(?! (?:by|due|for)\b)))|(?:disabled|suspended|inactive|deactivated|locked|frozen|closed|expired|terminated|discontinued|archived) (?:e-?mail |mail )?(?:mailbox|account|user|recipient|address|customer|alias)|(?:mailbox|account) (?:is )?not (?:active|available|activated|enabled)|extended inactivity|suspend the service|no longer (?:accepts?|accepting|receives?|receiving) (?:e-?)?mail/,
    source: SISIMAI,
  },
  {
    id: 'missing-text',
    kind: 'missing',
    severity: 5,
    text: /(?:someone@\S{1,100}|user|recipient|mail ?box|account|add?ress?|alias|addressee|customer|subscriber|person|name|login|e-?mail|rcpt|destinataire|employee|mail ?box name|id|username|local[ -]part|destination)(?:\(s\)|s)?(?: e-?mail| mail| name| address| account| box| id| is| was| are| not| has| has been|:|,| -)*[ :]*\(?(?:<[^>]{0,80}>|\[[^\]]{0,80}\]|someone@\S{1,80})?\)?[ :,-]*(?:is |was |are )?(?:unknow|not[ -]?found|not exist|do(?:es)? no exist|don'?t exist|doesn'?t exist|does ?n[o']t exists?|do(?:es)? not exist|not exists|nonexistent|non-existent|not present|not known|not recogni[sz]ed|isn'?t recogni[sz]ed|could not be found|couldn'?t be found|can(?:'t|not) be found|was not found|not listed|not in (?:directory|our|the|this)|unallocated|inconnu|no longer (?:exists?|valid|available|in use|on server|here|works|with|employed)|never existed|not registered|unrecogni[sz]ed|no such|not (?:a )?valid\b|not our|desconhecid|inexistente|no existe|nicht (?:gefunden|bekannt|vorhanden)|unbekannt|existiert nicht|removed|deleted)/,
    source: `${POSTFIX}; ${EXIM}; ${SENDMAIL}; ${SISIMAI}`,
  },
  {
    id: 'missing-unknown',
    kind: 'missing',
    severity: 5,
    text: /(?:unknown|no[- ]such|invalid|no valid(?! recipients)|nonexistent|non-existent|undefined|not a (?:known|valid|registered|recogni[sz]ed|current)|isn'?t a (?:known|valid)|no matching|unrecogni[sz]ed|unrouteable|unroutable|no longer a (?:valid|current)|not an? active|bad|incorrect|wrong|unable to (?:find|locate)|can(?:'t|not) find|couldn'?t find|could not find|did not find|no record of|never heard of|illegal)(?: or (?:invalid|unknown|illegal|inactive|non-existent))? (?:the |a |an |any |such |local |virtual |internet |destination |envelope |final |target |gateway |remote |this |of |that |e-?mail |mail |smtp |rcpt |pop |active )*(?:user|recipient|mail ?box|account|add?ress?(?!es? list)|alias|addressee|person|local[ -]?part|rcpt|customer|subscriber|login|mail ?drop|name here|people|e-?mail|id\b|destination(?! (?:host|domain)))/,
    source: `${POSTFIX}; ${EXIM}; ${SENDMAIL}; ${SISIMAI}`,
  },
  {
    id: 'missing-nobody',
    kind: 'missing',
    severity: 5,
    text: /(?:nobody|no one|no-one|no user|no account|no mail ?box|no recipient|no address|no person|nobody by|no-one by)[^.;]{0,30}(?:by that name|of that name|with (?:that|this) name|by this name|here|at this|found|available for this user|matching|exists)|isn'?t in my (?:list of )?(?:valid)?(?:rcptto|recipients)|validrcptto|badrcptto|not in (?:my |our |the )?(?:recipients?|users?)(?: list| table| map|\b)|(?:doesn'?t|does not|not) have an? (?:e-?mail |\S{1,40} )?account|not (?:an? )?(?:\S{1,20} )?(?:user|address|mailbox|account|customer|recipient)s? (?:here|at this|on this|in this|of this)|(?:we have|there is|there's) no (?:such|account|user|mailbox|one)|(?:user|mailbox|account|recipient)[^.;]{0,20} lookup failed|recipient verify failed|(?:user|recipient)(?: \S{1,100}){0,3} not listed in|is not (?:a )?(?:known|valid|registered|active|deliverable|defined) ?(?:user|e-?mail|mailbox|address|recipient|account|here|at this|on this)?|bad destination (?:mailbox|email|e-mail)|can't accept (?:user|recipient)|cannot accept mail for this (?:user|recipient)|destination server rejected recipients|rejected recipients|verify the (?:recipient|email) address|the (?:address|user) you (?:are trying|tried|entered)[^.;]{0,40}(?:not|invalid|wrong)|wrong or no longer|5\.1\.1 bad address|nessun utente|utente sconosciuto|usuario (?:desconocido|no existe)|utilisateur inconnu|adresse (?:inconnue|invalide)|unknown_?user|nosuchuser|no such object|don'?t exists? that user|user not local|not known at this|account not (?:found|local)|name is not found|name not found|envelope recipient has been denied|is no longer (?:valid|in use|available|with|employed)|has left the (?:company|organi)|in virtual mailbox table|in local recipient table|in relay recipient table|in virtual alias table/,
    source: `${QMAIL}; ${SISIMAI}`,
  },
  {
    id: 'missing-served',
    kind: 'missing',
    severity: 5,
    text: /(?:someone@\S{1,100}|user|recipient|mail ?box|account|add?ress?|alias|addressee|customer|subscriber|person|login)>?(?: name)?[ :,]{0,2}(?:(?:is|was) ?n(?:ot|'t) |not )(?:being )?(?:handled|served|serviced|managed|administ(?:e|ra)red|hosted|housed|processed|local|known|defined|recogni[sz]ed)(?: (?:by|at|on|in|here|to)\b|$)|(?:not|don't|doesn't) (?:handle|serve|host|manage|have|know)(?: mail for)? (?:that|this|any such|such an?|such) (?:user|mail ?box|recipient|account|add?ress?)|(?:user|recipient|mail ?box|account|add?ress?|addressee)>? (?:is )?not (?:here|on (?:this|our|my) (?:server|system|host|machine|site))\b|not (?:one of )?our (?:users?|mail ?box(?:es)?|recipients?|accounts?)\b/,
    source: 'small servers that are not of the big families, in their own English',
  },
  {
    id: 'missing-name',
    kind: 'missing',
    severity: 5,
    text: /(?:user|recipient|mail ?box|account|addressee|alias) (?!(?:domain|host|server|name|dns|mx|table|list|directory|database)\b)["'<[(]?[a-z0-9._+-]{1,64}["'>\])]? (?:does not exist|(?:is |was )?(?:unknown|not (?:found|known)))|inexist[ae]nt (?:user|mail ?box|recipient|account|add?ress?)|(?:user|mail ?box|recipient|account|add?ress?)[^.;]{0,40} inexist[ae]nt|add?ress? you (?:have )?(?:entered|gave|typed|sent to|tried)[^.;]{0,30} (?:be|not) found|\bno (?:local )?(?:user|mail ?box|account|recipient) (?:for|named|called|with|matching|by) |(?:user|mail ?box|account) (?:was |has )never (?:been )?created|(?:not|don't) have an account (?:by|with|for|named)/,
    source: 'small servers that are not of the big families, in their own English',
  },
  {
    id: 'missing-code-and-text',
    kind: 'missing',
    severity: 5,
    enhanced: /^5\.1\.1$/,
    text: /mailbox unavailable|recipient|no mailbox|address rejected/,
    source: RFC3463,
  },
  {
    id: 'moved',
    kind: 'likely_missing',
    severity: 5,
    text: /(?:has moved|has been replaced|address (?:has )?changed|please (?:use|update)[^.;]{0,40}new (?:e-?mail )?address)/,
    source: RFC5321,
  },
]

/** Refusals of content, policy or the sender in words that also stand beside others. */
const POLICY_RULES: readonly ReplyRule[] = [
  {
    id: 'content',
    kind: 'blocked',
    text: /\bspam|\bjunk\b|unsolicited|bulk (?:e-?)?mail|virus|malware|phish|content|message (?:size|too|rejected|refused|blocked|looks|contains|is |was |exceeds|not allowed|denied)|header|attachment|\burls?\b(?! *https?:)|\bdbl\b|your (?:message|mail|e-?mail)|this (?:message|mail|e-?mail) (?:is|was|has|does|fails|contains|looks)|mail rejet|mail (?:was )?(?:rejected|refused|blocked)|8-?bit|non compliant|compliant|rfc ?\d{3,4}/,
    source: SISIMAI,
  },
  {
    id: 'policy',
    kind: 'blocked',
    text: /polic(?:y|ies)|access denied|permission denied|denied by|not (?:allowed|permitted|authorized|welcome)|prohibit|administrative|security|violat|refused by|blocked|forbidden|restricted|insufficient permission|contact (?:your|the) (?:postmaster|administrator|admin)|for assistance|unblock|whitelist|allow ?list|protected by|firewall|filter/,
    source: SISIMAI,
  },
  {
    id: 'loop',
    kind: 'server',
    text: /too many hops|hop count|mail loop|loop(?:s|ing)? (?:back|detected)|loop count|message expired|retry timeout|queue too long/,
    source: SENDMAIL,
  },
  {
    id: 'protocol',
    kind: 'server',
    text: /(?:bad|improper|invalid|wrong|out of) (?:sequence|order|command)|syntax error|command (?:unrecogni[sz]ed|not (?:recogni[sz]ed|implemented|supported)|unknown|rejected)|unrecogni[sz]ed (?:command|parameter)|need (?:mail|rcpt)|protocol (?:error|violation)|pipelin|unimplemented|not implemented/,
    source: RFC5321,
  },
  {
    id: 'server-fault',
    kind: 'server',
    text: /(?:internal|local|server|system|mailer|database|ldap|directory|dns|configuration|config|temporary|temporarily|lookup|processing|resource|queue|mail server|delivery|i\/o|storage|software) ?(?:server |system )?(?:error|fault|fail|unavailable|problem|trouble|busy|timeout|timed out|not available|lookup)|try (?:again|later|your)|timed? ?out|connection (?:reset|lost|closed|timed)|service (?:unavailable|not available|refuse|currently)|temporar(?:y|ily)|unknown mailer|out of service|overload|system (?:config|not|is)|could not (?:load|connect|contact)|transaction failed|not enough|shutting down|maintenance/,
    source: RFC5321,
  },
]

/** What the server says of the domain. */
const DOMAIN_RULES: readonly ReplyRule[] = [
  { id: 'protocol-code', kind: 'server', enhanced: /^5\.5\.[24]$/, source: RFC3463 },
  {
    id: 'domain-code',
    kind: 'no_domain',
    severity: 5,
    enhanced: /^5\.1\.2$/,
    text: /host|domain|system|server|dns|mx\b/,
    source: RFC3463,
  },
  {
    id: 'domain-text',
    kind: 'no_domain',
    severity: 5,
    text: /(?:host|domain)(?: name)?[^.;]{0,30}(?:unknown|not found|does ?n[o']t exist|invalid)|(?:unknown|invalid|no such|nonexistent|unrouteable|unroutable) (?:recipient |destination |mail |remote )?(?:host|domain)|couldn'?t find (?:any host|a mail exchanger)|(?:weren'?t|wasn'?t) able to find the recipient domain|no mail (?:exchanger|server|host) for|all relevant mx records point to non-existent|unrouteable (?:mail )?domain|(?:^|data: )(?:\d{3} )?(?:[245]\.\d{1,3}\.\d{1,3} )?[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,7}\.[a-z][a-z0-9-]{1,62} does not exist$/,
    source: `${SENDMAIL}; ${SISIMAI}`,
  },
  {
    id: 'takes-no-mail',
    kind: 'no_mail',
    severity: 5,
    text: /(?:null ?mx|indicated no smtp service|(?:does|do) not accept (?:any )?(?:e-?)?mail(?:$|[.,; ]*(?:\(|rfc)))/,
    source: 'RFC 7505 4.1, 4.2',
  },
]

/** Words that say less, and codes; the last to be asked. */
const CODE_RULES: readonly ReplyRule[] = [
  {
    id: 'user-reject',
    kind: 'filtered',
    text: /user reject|permanent failure for one or more recipients|not accepting (?:e-?)?mail|declined by recipient/,
    source: SISIMAI,
  },
  {
    id: 'mailbox-unavailable',
    kind: 'likely_missing',
    severity: 5,
    text: /(?:mailbox|account|address|recipient|user) (?:is )?(?:currently )?(?:unavailable|unavaiable|not available|undeliverable)|undeliverable address/,
    source: RFC5321,
  },
  {
    id: 'recipient-rejected',
    kind: 'likely_missing',
    severity: 5,
    // A policy that refuses the recipient to us says nothing of the mailbox.
    notEnhanced: /^5\.7\./,
    text: /(?:recipient|address|rcpt|user)(?: address)? (?:was |is |has been )?(?:rejected|refused|not accepted)[.!]?(?: *\(in reply to rcpt to command\)| <?someone@\S{1,100})?$|invalid (?:recipients?|mail ?box|address)\b|(?:address|mailbox|recipient|user)s? (?:is |are )?invalid|rejected recipient|recipient invalid|possibly incorrect|recipient[^.;]{0,20} (?:cannot|can't|could not) be verified/,
    source: `${POSTFIX}; ${SISIMAI}`,
  },
  {
    id: 'bare-words',
    kind: 'likely_missing',
    severity: 5,
    text: /^(?:\d{3}[ -])?(?:[245]\.\d{1,3}\.\d{1,3} )?(?:sorry[,:]? )?(?:(?:does not exist|nonexistent|unknown|not found)[.!]?$|not (?:handled|served|serviced|managed) (?:by|on|at|in) (?:this|our|the) (?:mail )?(?:system|server|host|site|machine)\b)/,
    source: 'a refusal of a recipient without another word, by a host that its domain names',
  },
  {
    id: 'code-missing',
    kind: 'missing',
    severity: 5,
    enhanced: /^5\.1\.(?:1|10|6)$/,
    source: RFC3463,
  },
  {
    id: 'code-bad-syntax',
    kind: 'likely_missing',
    severity: 5,
    enhanced: /^5\.1\.3$/,
    source: RFC3463,
  },
  {
    id: 'code-disabled',
    kind: 'disabled',
    severity: 5,
    enhanced: /^5\.2\.1$|^5\.7\.13$/,
    source: RFC3463,
  },
  {
    id: 'code-rate',
    kind: 'rate',
    enhanced: /^4\.5\.3$|^[45]\.7\.(?:28|30|650|651)$/,
    source: RFC3463,
  },
  { id: 'code-policy', kind: 'blocked', enhanced: /^[45]\.7\.\d+$/, source: RFC3463 },
  {
    id: 'code-deferred',
    kind: 'greylist',
    severity: 4,
    enhanced: /^4\.2\.0$/,
    source: 'postgrey and Postfix policy services',
  },
  { id: 'code-system', kind: 'server', enhanced: /^[45]\.[345]\.\d+$/, source: RFC3463 },
]

/** All rules in the order they are asked. */
export const REPLY_RULES: readonly ReplyRule[] = [
  ...SENDER_CODE_RULES,
  ...PROVIDER_RULES,
  ...EXISTS_RULES,
  ...SENDER_RULES,
  ...MAILBOX_RULES,
  ...FOREIGN_RULES,
  ...POLICY_RULES,
  ...DOMAIN_RULES,
  ...CODE_RULES,
]
