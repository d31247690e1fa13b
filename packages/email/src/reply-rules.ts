import { FOREIGN_RULES } from './foreign-rules.ts'
import { PROVIDER_RULES } from './provider-rules.ts'
import { compileRule } from './reply-rule.ts'
import type { CompiledRule, ReplyRule } from './reply-rule.ts'

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
    phrases: {
      '(?:user|account|recipient|mailbox)[^.]{0,60} receiving (?:e-?)?mail (?:at a rate|too quickly|too fast)':
        '550 5.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered.',
      '(?:user|account|recipient|mailbox)[^.]{0,30} exceeded (?:his |her |its |their |the )?(?:message |mail )?rate limit':
        '450 4.2.1 The recipient has exceeded message rate limit. Try again later.',
    },
    source: GOOGLE,
  },
  {
    id: 'only-members',
    kind: 'filtered',
    phrases: {
      'only accept(?:s|ing)? (?:e-?)?mail from': null,
      'may not exist, or you may not have permission': null,
      'only (?:internal|authenticated|registered) (?:senders|users)':
        '550 5.7.129 only authenticated senders',
      'not accepting mail from (?:you|this sender|unknown)':
        '550 ada@y.example IS NOT ACCEPTING MAIL FROM THIS SENDER',
      'has restricted (?:sms )?e-?mail': null,
    },
    source: SISIMAI,
  },
]

/** Refusals of the sender that no word about a mailbox can outweigh. */
const SENDER_RULES: readonly ReplyRule[] = [
  {
    id: 'greylist',
    kind: 'greylist',
    phrases: {
      'gr[ea]y-?(?: )?list':
        '451 4.7.1 <ada@y.example>: Recipient address rejected: Greylisted for 5 minutes',
      postgrey:
        '450 4.2.0 <ada@x.example>: Recipient address rejected: Greylisted, see http://postgrey.schweikert.ch/help/x.example.html',
      'milter-?greylist': null,
      'deferred for (?:spam|a few)': null,
      graylist: null,
    },
    source: 'postgrey, milter-greylist and Barracuda texts',
  },
  {
    id: 'smtputf8',
    kind: 'smtputf8',
    phrases: {
      smtputf8: '550 5.6.7 SMTPUTF8 is required, but was not offered by host',
      'non-ascii addresses? (?:not|isn)': null,
      'internationali[sz]ed (?:addresses|mailbox)': null,
    },
    source: 'RFC 6531 3.2 and 3.5; enhanced code 5.6.7',
  },
  {
    id: 'sender-address',
    kind: 'blocked',
    phrases: {
      "sender(?:'?s)?(?: e-?mail| mail)? {sender-word}": [
        '550 Sender verify failed',
        "501 Diagnostic information for administrators: kijitora@example.jp nijo.example.jp Remote Server returned '501 5.1.8 Sender address rejected'",
      ],
      'envelope sender': '553 sorry, your envelope sender is in my badmailfrom list (#5.7.1)',
      'invalid (?:sender|sending)': '550 invalid sender, user unknown',
      'unverified sender': null,
      originator: '550 originator address does not exist',
      'reverse[- ]path': '501 Reverse path is not a valid mailbox',
      'sending address': null,
      '(?:mailbox|address) of (?:the )?sender': '553 malformed address of sender: unknown mailbox',
      '(?:mail|message)s? from (?:an? )?(?:unknown|invalid|unverified|non-?exist)':
        '550 Mail from unknown user refused',
      '(?:user|address|domain|mail ?box|syntax) in (?:the )?(?:mail ?from|mail|from)\\b':
        '550 Invalid user in MAIL FROM',
      '(?:unknown|no such|nonexistent|unrecogni[sz]ed) sender': '550 No such sender',
      '(?:allowed|permitted|authori[sz]ed) to send':
        "550 5.1.0 192.0.2.222 is not allowed to send from <example.net> per it's SPF Record",
      '(?:dns mx|mx) or a(?:/aaaa)? resource':
        '550 Requested action not taken: mailbox unavailable invalid DNS MX or A/AAAA resource record',
      '(?:block|reject)(?:ed|ing)? (?:the )?sender': null,
      '(?:domain|part) of (?:the )?sender':
        '553 5.1.8 <verify@s.example>... Domain of sender address verify@s.example does not exist',
      'sender.{0,80}{not-resolved}': [
        '550 the senders mailbox does not exist',
        '550 5.1.1 verifier.sender.test does not exist',
      ],
      'unroutable sender': null,
      'bad sender': '501 5.1.7 Bad sender address syntax',
      'call-?back (?:to|of) (?:the )?sender':
        '550 callback to the sender address failed: 550 No such user',
      '(?:from|return)[ -]?(?:path|address)': '550 From address not found',
      'mail from:? ?(?:domain|address|command)': '550 mail from: address not valid',
      'null sender': null,
      'empty envelope': null,
      'does not accept bounce': null,
      mailfrom: '553 sorry, your envelope sender is in my badmailfrom list (#5.7.1)',
      'sending domain': null,
      'from domain': null,
      'your domain': null,
      'your e-?mail (?:address|account)': null,
      'your address': '421 4.7.0 Too many connections from your address',
      'sending account': null,
      'you are sending from': null,
      'your account': null,
    },
    source: `${POSTFIX}; ${EXIM}`,
  },
  {
    id: 'blocklist-name',
    kind: 'blocked',
    phrases: {
      spamhaus:
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org',
      spamcop:
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using bl.spamcop.net',
      'barracuda(?:central|networks\\.com/reputation| reputation)':
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using b.barracudacentral.org',
      abusix:
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using combined.mail.abusix.zone',
      '\\bsorbs\\b':
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using dnsbl.sorbs.net',
      cloudmark: null,
      senderbase: null,
      senderscore: null,
      uceprotect:
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using dnsbl-1.uceprotect.net',
      invaluement: null,
      mailspike:
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using bl.mailspike.net',
      nixspam: null,
      backscatterer:
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using ips.backscatterer.org',
      'proofpoint\\.com/(?:dnsbl|ipcheck)': null,
      ipcheck: null,
      'prs\\.proofpoint': null,
      dnsbl: '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using dnsbl.sorbs.net',
      '\\brbls?\\b': '554 RBL Reject.',
      '\\bxbl\\b':
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using xbl.spamhaus.org',
      '\\bsbl\\b':
        '550 5.7.1 Mail from IP 192.0.2.1 was rejected due to listing in Spamhaus SBL. For details please see http://www.spamhaus.org/query/bl?ip=x.x.x.x',
      '\\bcbl\\b':
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using cbl.abuseat.org',
      '\\bpbl\\b':
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using pbl.spamhaus.org',
      '\\bdul\\b':
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using dul.dnsbl.sorbs.net',
      '\\bcsi\\.': null,
      '0spam': '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using bl.0spam.org',
      manitu:
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using ix.dnsbl.manitu.net',
      njabl:
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using combined.njabl.org',
      '\\bivmsip': null,
    },
    source: 'names of DNS blocklists',
  },
  {
    id: 'blocklist-word',
    kind: 'blocked',
    phrases: {
      '(?:black|block|deny|ban|bad|spam)[ -]?list(?:ed|ing|s)?\\b':
        '550 Your IP has been blacklisted',
      '(?<!not )\\blisted (?:in|at|by|on)\\b': null,
      'found in (?:one or more )?dns': null,
      '\\bbanned\\b': '550 5.7.606 Access denied, banned sending IP [192.0.2.1].',
      'blocking list': null,
    },
    source: SISIMAI,
  },
  {
    id: 'reputation',
    kind: 'blocked',
    phrases: {
      reputation:
        "554 Your access to this mail system has been rejected due to the sending MTA's poor reputation.",
      '\\bsbrs\\b': null,
      'trust ?score': null,
      spamming: null,
      suspicious: '450 4.4.318 Connection was closed abruptly (SuspiciousRemoteServerError)',
      abusive: null,
      'too much spam': null,
    },
    source: SISIMAI,
  },
  {
    id: 'reverse-dns',
    kind: 'blocked',
    phrases: {
      'reverse[ -](?:dns|lookup|record|name|address|mapping|hostname)':
        '554 host mx.nyaan.example.com [192.0.2.222] SMTP error from remote mail server after initial connection: 554 5.7.1 [C14] Missing reverse DNS for 203.0.113.2',
      '\\brdns\\b': null,
      '\\bptrs?\\b':
        '550 5.7.25 [192.0.2.25] The IP address sending this message does not have a PTR record setup',
      "(?:cannot|can't|could not|unable to) (?:find|resolve|verify|lookup|look up) your":
        '450 4.7.1 Client host rejected: cannot find your hostname, [192.0.2.1]',
      '(?<!user |mailbox |account |recipient |email address |alias )lookup failed':
        '450 4.7.1 Access denied. IP name lookup failed [192.0.2.222] 450 4.7.1 Access denied. IP name lookup failed [192.0.2.222]',
      'name (?:service|server) error for name':
        '550 Host or domain name not found. Name service error for name=x.example type=MX: Host not found, try again',
      'dynamic(?:ally)?[ -](?:ip|address|assigned|looking|host|range)': null,
      'generic (?:host|rdns|ptr)': null,
      'dial-?up': null,
      residential: null,
      'host ?name (?:lookup|does not|not found|mismatch|verif)':
        '550 5.1.2 <ada@x.example>... Host unknown (Name server: mx.x.example.: host name lookup failure)',
      'ip (?:address )?(?:not resolv|does not resolve|has no)': null,
      'no dns entry': null,
      'unverifyable sending': null,
      unresolvable: null,
      'fix (?:your )?(?:reverse|dns)': null,
      'host rejected':
        '554 5.7.1 <verifier.example[192.0.2.1]>: Client host rejected: Access denied',
      'client host': '554 5.7.1 <verifier.example[192.0.2.1]>: Client host rejected: Access denied',
      'unable to resolve': null,
    },
    source: `${POSTFIX}; ${SISIMAI}`,
  },
  {
    id: 'authentication',
    kind: 'blocked',
    phrases: {
      '\\bspf\\b': '550 5.7.23 SPF validation failed',
      '\\bdkim\\b':
        "421 4.7.32 Your email has been rate limited because the From: header (RFC5322) in this message isn't aligned with either the authenticated SPF or DKIM organizational domain.",
      '\\bdmarc\\b': '550 5.7.1 Email rejected per DMARC policy for zoho.com',
      'sender policy framework':
        '550 5.7.23 The message was rejected because of Sender Policy Framework violation',
      authenticat: '550 SPF: sender is unauthenticated',
      'smtp auth': null,
      'auth (?:required|first)': null,
      'not authori[sz]ed': '550 5.7.1 RESOLVER.RST.NotAuthorized; not authorized',
      'unauthori[sz]ed': null,
      'not permitted to send': null,
      'not allowed to send':
        "550 5.1.0 192.0.2.222 is not allowed to send from <example.net> per it's SPF Record",
      'login first': null,
      'pop before smtp': null,
      'check-?pop': null,
      'authori[sz]ation':
        '550 Mailbox unknown. Either there is no mailbox associated with this name or you do not have authorization to see it. 5.1.1 User unknown',
      password:
        '535 5.7.1 Username and Password not accepted. For more information, visit https://support.google.com/accounts/troubleshooter/2402620',
    },
    source: `${GOOGLE}; ${SISIMAI}`,
  },
  {
    id: 'helo',
    kind: 'blocked',
    phrases: {
      '\\behlo\\b': '501 5.5.4 HELO/EHLO argument is invalid.',
      '\\bhelo\\b': '501 5.5.4 HELO/EHLO argument is invalid.',
      'fully[ -]qualified': '504 5.5.2 <x>: Helo command rejected: need fully-qualified hostname',
    },
    source: POSTFIX,
  },
  {
    id: 'tls-needed',
    kind: 'blocked',
    phrases: {
      '\\btls (?:is )?(?:required|needed|encryption)':
        '421 4.7.0 TLS required for RCPT domain, closing connection. For more information, go to Email encryption in transit. https://support.google.com/mail/answer/6330403',
      'starttls (?:command )?(?:first|required)': '530 Must issue a STARTTLS command first',
      'must issue a starttls': '530 Must issue a STARTTLS command first',
      'encryption (?:needed|required)': '523 5.7.10 Encryption Needed',
      'encrypted connection': null,
    },
    source: `${GOOGLE}; RFC 3207`,
  },
  {
    id: 'too-fast',
    kind: 'rate',
    phrases: {
      'too many {too-many-of}': [
        '421 Too many connections',
        '450 4.7.1 Too many connections from your IP',
        '421 4.7.0 Too many connections, closing transmission channel',
      ],
      '(?:rate|connection|frequency|volume|sending)[ -](?:limit|control|exceed)':
        '550 Connection frequency limited',
      'message[ -](?:rate[ -])?limit':
        '450 4.2.1 The recipient has exceeded message rate limit. Try again later.',
      'rate[ -]?limit': '450 4.2.1 The recipient has exceeded message rate limit. Try again later.',
      throttl: null,
      excessive:
        '421 4.7.1 Messages to ****@icloud.com deferred due to excessive volume. Try again later - https://support.apple.com/en-us/HT204137',
      'unusual rate': '421 4.7.28 Gmail has detected an unusual rate of mail (originating from)',
      'too (?:fast|frequent|quick)': '450 User is receiving mail too quickly',
      'quota for (?:your|sender|today)': null,
      'exceeded (?:the )?(?:rate|maximum number|connection|sending|hourly|daily|your)': null,
      frequency: '550 Connection frequency limited',
      'limit(?:s)? exceeded for (?:your|ip|host)': null,
      'exceeded the .{0,20}(?:rate|connection)': null,
      'messages? (?:per|from) .{0,60}(?:deferred|limit)':
        '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints',
      'slow down': null,
      'relay quota':
        "554 SMTP error from remote mail server after initial connection: host email-22.example.net [192.0.2.222]: 554 neko-22.nyaan.r.example.net : CAT : neko22 : CAT : You've reached your daily relay quota - 203.0.113.0",
      'max(?:imum)? (?:number of )?(?:connections?|messages?|recipients)':
        '552 5.2.3 Message size exceeds fixed maximum message size (10485760) 552 5.2.3 Message size exceeds fixed maximum message size (10485760)',
      'no more (?:connections|messages|recipients)': null,
      'reached your':
        "554 SMTP error from remote mail server after initial connection: host email-22.example.net [192.0.2.222]: 554 neko-22.nyaan.r.example.net : CAT : neko22 : CAT : You've reached your daily relay quota - 203.0.113.0",
      'resources? restricted': null,
      'deferred due to':
        '421 4.7.1 Messages to ****@icloud.com deferred due to excessive volume. Try again later - https://support.apple.com/en-us/HT204137',
      'unexpected volume':
        '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints',
      'user complaints':
        '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints',
    },
    source: SISIMAI,
  },
  {
    id: 'our-address',
    kind: 'blocked',
    phrases: {
      '{our-side} ?{our-host}\\b.{0,60}{blocked-word}':
        '550 Access from ip address 192.0.2.1 blocked.',
      '{refusing}\\w* .{0,40}{from-us}': null,
      '\\bip[=: ]\\s*\\[?\\d{1,3}(?:\\.\\d{1,3}){3}':
        '550 5.7.606 Access denied, banned sending IP [192.0.2.1].',
      'ip address \\[?\\d{1,3}(?:\\.\\d{1,3}){3}': '550 Access from ip address 192.0.2.1 blocked.',
      'blocked ip': null,
      'ip .{0,30}blocked': '550 Access from ip address 192.0.2.1 blocked.',
      'ip block': null,
      'bad (?:ip|host)': null,
      'host .{0,40}(?:is )?(?:blocked|refused|denied)':
        '421 delivery temporarily suspended: host mfsmax.example.net[203.0.113.127] refused to talk to me: 421 Service not available, closing transmission channel',
      'connection (?:refused|rejected|denied|blocked|dropped)':
        '550 5.4.316 Message expired, connection refused(Socket error code 10061)',
      'refused (?:connection|by)': '550 5.4.4 domain not found: refused by name server',
      'not accept(?:ing)? (?:connections?|mail|e-?mails?|messages?) from':
        '550 ada@y.example IS NOT ACCEPTING MAIL FROM THIS SENDER',
      'we do not accept': null,
      'connections? (?:will )?not (?:be )?accepted':
        "553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.25, because the ip is in Spamhaus's list; see http://postmaster.yahoo.com/550-bl23.html",
      'go away': null,
      'no mail (?:from|accepted)': null,
      'sending (?:ip|server|mta)': '550 5.7.606 Access denied, banned sending IP [192.0.2.1].',
      'originating ip': null,
    },
    source: SISIMAI,
  },
  {
    id: 'your-own',
    kind: 'blocked',
    phrases: {
      '\\byour {your-kind-of}?{your-host}\\b(?! {not-your})': [
        '550 Your mail server is unknown',
        '550 Your host does not exist in DNS',
        '550 Messages from your network are not handled by this system',
      ],
      '\\b{probing-word}': [
        '550 address probing detected',
        '550 5.7.1 Mailbox verification attempts are blocked',
      ],
    },
    source: `${SISIMAI}; in a reply to us "your" is ours`,
  },
  {
    id: 'content-proper',
    kind: 'blocked',
    phrases: {
      'detected as spam': null,
      'file ?names?\\b': null,
      attachment:
        '552 5.7.0 Our system detected an illegal attachment on your message. Please visit http://mail.google.com/support/bin/answer.py?answer=6590 to review our attachment guidelines.',
      'message-id': '550 5.7.1 Messages missing a valid Message-ID header are not accepted.',
      '\\bheaders?\\b': '550 5.7.1 Messages missing a valid Message-ID header are not accepted.',
      'from: header':
        "421 4.7.32 Your email has been rate limited because the From: header (RFC5322) in this message isn't aligned with either the authenticated SPF or DKIM organizational domain.",
      'subject:': null,
    },
    source: SISIMAI,
  },
  {
    id: 'relay',
    kind: 'relay',
    phrases: {
      'relay(?:ing)?(?: access| attempt| mail| not|ing)? ?(?:was |is )?{relay-refused}': [
        '550 relay not permitted',
        '554 5.7.1 <ada@y.example>: Relay access denied',
        '554 5.7.1 <kijitora@example.org>: Relay access denied 554 5.7.1 <kijitora@example.org>: Relay access denied',
      ],
      '{unable} (?:to )?relay': null,
      rcpthosts: "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)",
      'not (?:a )?local (?:host|domain|address|to this)': null,
      'relay(?:ing)? (?:is )?(?:from|to|through|for|by)':
        '550 relaying to <ada@x.example> prohibited by administrator',
      'not (?:an? )?(?:open|mail) relay': null,
      'not a gateway': null,
      'local delivery only': null,
      '(?:domain|host) (?:is )?not {not-served}': '550 this domain is not handled by this system',
      'does not (?:accept|handle|host|serve|receive) (?:e-?mail|mail|messages) for(?! (?:that|this|the|such an?) {user-noun})':
        null,
      "that domain isn't": "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)",
      'no such domain (?:here|at this location)': null,
      "don't (?:handle|accept|host) mail for": null,
      'insecure mail relay': null,
      'must be (?:sent|delivered) (?:to|through|via)': null,
      'through this server': null,
    },
    source: `${POSTFIX}; ${SENDMAIL}; ${QMAIL}`,
  },
]

/**
 * Replies with a permanent code for a state that passes, or for a fault behind the server. They
 * stand before what is said of the mailbox: a server whose directory fails also says "user unknown".
 */
const TEMPORARY_RULES: readonly ReplyRule[] = [
  {
    id: 'name-server',
    kind: 'server',
    phrases: {
      '\\bservfail\\b': '550 Domain not found: SERVFAIL',
      '\\b{name-server}\\b[^.;()]{0,30}{name-server-fault}': [
        '550 resolver error: host not found',
        '550 Recipient unknown (DNS SERVFAIL)',
        '550 no such domain (dns lookup error)',
      ],
      'host ?name lookup failure':
        '550 5.1.2 <ada@x.example>... Host unknown (Name server: mx.x.example.: host name lookup failure)',
      'lookup (?:timed? ?out|did not complete|deferred|failure)':
        '550 host lookup did not complete',
      'error (?:from|at|of) (?:the )?name ?-?server':
        '550 Host not found (error from name server: 2)',
      'host not found,? (?:please )?try again':
        '550 host not found, try again (name service temporarily unavailable)',
      'query refused': '550 5.1.2 host unknown: query refused',
      'temporar(?:y|ily) (?:dns|name|resol|lookup)':
        '550-Callout verification failed: 451 4.3.0 Temporary lookup failure of user',
    },
    source: 'RFC 2308 section 7, RFC 8914; Sendmail, Postfix and Exim texts for a failed look-up',
  },
  {
    id: 'directory-fault',
    kind: 'server',
    phrases: {
      '\\b{directory}{directory-service}?[ :]{0,2}(?:is |was |has )?{directory-fault}': [
        '550 ldap error: user not found',
        '550 User unknown: LDAP server not available',
        '550 mailbox not found: directory server error',
      ],
    },
    source: 'Exim, Postfix and Dovecot texts where a table cannot be read',
  },
  { id: 'routing-code', kind: 'server', enhanced: /^[45]\.4\.3$/, source: 'RFC 3463 3.5' },
  {
    id: 'not-now',
    kind: 'server',
    phrases: {
      '\\b{not-able}\\b[^.;]{0,60}\\b{this-moment}\\b':
        '550 cannot verify recipient at this time: unknown user',
    },
    source: 'Exim and gateway texts for a check that could not be made',
  },
  {
    id: 'on-hold',
    kind: 'held',
    phrases: {
      '\\bon[ -]hold\\b': '550 user on hold',
      '\\b(?:is|been|being|are|mailbox|account) held\\b': "550 recipient's mail is being held",
      '\\bunder (?:investigation|review|maintenance)\\b': '550 5.2.1 account under investigation',
      '\\b(?:being|be|currently) (?:migrated|moved|restored|rebuilt|repaired)\\b':
        '550 Mailbox is being rebuilt',
      '(?:mail ?box|account) (?:is )?(?:currently )?busy\\b': '550 mailbox busy',
      '\\blocked by (?!(?:the |an? |your |its |our )?{administrator})': [
        '550 Mailbox is locked by another process',
        '550 User mailbox is locked by pop3 session',
      ],
    },
    source: 'texts of hosters that hold the mail of an account back',
  },
  {
    id: 'locked-for-now',
    kind: 'held',
    phrases: {
      '{passing-noun}[^.;]{0,50}{passing-state}[^.;]{0,40}\\b{for-now}': [
        '550 mailbox locked, try later',
        '550 account frozen temporarily',
        '550 mailbox is locked for maintenance',
      ],
      '{for-now}[^.;]{0,30}{passing-state}': [
        '550 5.2.1 mailbox temporarily locked',
        '550 mailbox is temporarily suspended',
        '554 5.2.1 Recipient temporarily frozen',
      ],
    },
    source: 'RFC 5321 4.2.1: what passes wants a 4xx, and many servers say 550',
  },
]

/** What is said of the mailbox in so many words. */
const MAILBOX_RULES: readonly ReplyRule[] = [
  {
    id: 'full-text',
    kind: 'full',
    phrases: {
      '{store-noun}(?: <?someone@\\S{1,100})?[^.;]{0,60}(?:\\bfull\\b|{over} {its}*{space})': [
        '552 5.2.2 <****@icloud.com>: user is over quota (in reply to RCPT TO command)',
        '552 5.2.2 <mailboxfull@libsisimai.net>: Recipient address rejected: Mailbox full',
        '550 host mx.example.jp[192.0.2.22] said: 550 5.2.2 <noraneko@example.jp>... Mailbox Full (in reply to RCPT TO command)',
      ],
      '{over-or-violating}[ -]{its-quota}*quota': [
        '552 5.2.2 Over quota',
        '522 5.2.0 Delivery failed: Over quota',
        '552 5.2.2 <****@icloud.com>: user is over quota (in reply to RCPT TO command)',
      ],
      'quota (?:is )?(?:exceed|exhausted|full|violation|reached|limit|usage)':
        '452 4.2.2 Mailbox quota exceeded',
      '(?:disk|mail|mailbox|storage|user|disc|diskspace)[ -]?quota':
        '452 4.2.2 Mailbox quota exceeded',
      'full mailbox': null,
      '\\bmailbox[a-z ]{0,20} is full': '552 5.2.2 mailbox is full',
      '(?:over|under) ?quota': '552 5.2.2 Over quota',
      '\\boverquota\\b':
        '552 5.1.1 Boite du destinataire pleine. Recipient overquota. OFR_417 [417]',
      'no(?:t enough| more)? (?:storage |disk |free )?(?:space|storage)[^.;]{0,30}(?:mailbox|user|recipient|account)':
        null,
      'boite du destinataire pleine':
        '552 5.1.1 Boite du destinataire pleine. Recipient overquota. OFR_417 [417]',
      'casella piena': null,
      'buz[oó]n lleno': null,
      shutoffquota: null,
      'mailbox size limit': null,
    },
    source: SISIMAI,
  },
  {
    id: 'full-storage',
    kind: 'full',
    severity: 5,
    phrases: {
      'exceeded storage allocation':
        '552 Requested mail action aborted: exceeded storage allocation',
    },
    source: RFC5321,
  },
  { id: 'full-code', kind: 'full', enhanced: /^[45]\.2\.2$/, source: RFC3463 },
  ...TEMPORARY_RULES,
  {
    id: 'storage-of-server',
    kind: 'server',
    phrases: {
      'insufficient (?:system|disk|storage|resource)':
        '452 4.3.1 Insufficient system resources (TSTE)',
      'system storage': '452 Requested action not taken: insufficient system storage',
      'no space left': null,
      'mail system full': '550 5.3.1 Mail system full',
      'not enough (?:disk|storage|free)? ?(?:space|storage)': null,
      'out of (?:memory|disk|space)': '421 out of memory (#4.3.0)',
      'low on disk': null,
      'not enough disk': null,
    },
    source: RFC5321,
  },
  {
    id: 'disabled-text',
    kind: 'disabled',
    severity: 5,
    phrases: {
      '{account-noun}[^.;<]{0,50}(?:\\b{been}? ?{closed-state})':
        '550 Message was not accepted -- invalid mailbox. Local mailbox ada@mail.ru is unavailable: account is disabled',
      '{closed-before} (?:e-?mail |mail )?{closed-noun}': [
        '525 5.7.13 Disabled recipient address 503 5.0.0 Need RCPT (recipient) 525 5.7.13 Disabled recipient address',
        '550 host mx1.mail.icloud.com[17.172.34.9] said: 550 5.1.1 <pseudo-local-part-of-icloud@icloud.com>: inactive email address (in reply to RCPT TO command)',
      ],
      '(?:mailbox|account) (?:is )?not (?:active|available|activated|enabled)': null,
      'extended inactivity': null,
      'suspend the service': null,
      'no longer (?:accepts?|accepting|receives?|receiving) (?:e-?)?mail': null,
    },
    source: SISIMAI,
  },
  {
    id: 'missing-text',
    kind: 'missing',
    severity: 5,
    phrases: {
      '{missing-noun}(?:\\(s\\)|s)?{missing-filler}*[ :]*\\(?{address-in-brackets}?\\)?[ :,-]*(?:is |was |are )?{missing-state}':
        ['550 5.1.1 User Unknown', '550 Recipient not found', '550 5.1.1 Mailbox does not exist'],
    },
    source: `${POSTFIX}; ${EXIM}; ${SENDMAIL}; ${SISIMAI}`,
  },
  {
    id: 'missing-unknown',
    kind: 'missing',
    severity: 5,
    phrases: {
      '{unknown-word}(?: or {or-unknown})? {which}*{mailbox-noun}': [
        '550 5.7.1 No such user!',
        '550 Unrouteable address',
        '550 No such user (ada@y.example)',
      ],
    },
    source: `${POSTFIX}; ${EXIM}; ${SENDMAIL}; ${SISIMAI}`,
  },
  {
    id: 'missing-nobody',
    kind: 'missing',
    severity: 5,
    phrases: {
      '{nobody}[^.;]{0,30}{nobody-here}': [
        '550 There is no one here by that name',
        '550 5.1.1 no account by that name here',
        '550 sorry, but we have no account with that name',
      ],
      "isn'?t in my (?:list of )?(?:valid)?(?:rcptto|recipients)": null,
      validrcptto: '553 sorry, this recipient is not in my validrcptto list (#5.7.1)',
      badrcptto: null,
      'not in (?:my |our |the )?(?:recipients?|users?)(?: list| table| map|\\b)':
        '554 5.7.1 <ada@y.example>: Recipient address rejected: Not in recipient list',
      "(?:doesn'?t|does not|not) have an? (?:e-?mail |\\S{1,40} )?account":
        '550 ada does not have an email account here',
      'not (?:an? )?(?:\\S{1,20} )?{our-noun}s? {here}': [
        '550 not a valid user here',
        '550 cannot verify recipient at this time: unknown user',
      ],
      "(?:we have|there is|there's) no (?:such|account|user|mailbox|one)":
        '550 There is no one here by that name',
      '(?:user|mailbox|account|recipient)[^.;]{0,20} lookup failed':
        '550 user lookup failed: database connection lost, unknown user',
      'recipient verify failed': '550 recipient verify failed: 451 greylisted',
      '(?:user|recipient)(?: \\S{1,100}){0,3} not listed in':
        '550 User ada (ada@x.example) not listed in Domino Directory',
      'is not (?:a )?{known-word} ?{known-noun}?': [
        '550 user ada is not registered here',
        '550 5.1.1 recipient is not defined on this system',
      ],
      'bad destination (?:mailbox|email|e-mail)': null,
      "can't accept (?:user|recipient)": null,
      'cannot accept mail for this (?:user|recipient)': null,
      'destination server rejected recipients': null,
      'rejected recipients': null,
      'verify the (?:recipient|email) address': null,
      'the (?:address|user) you (?:are trying|tried|entered)[^.;]{0,40}(?:not|invalid|wrong)': null,
      'wrong or no longer': null,
      '5\\.1\\.1 bad address': '550 5.1.1 #5.1.1 bad address ada@x.example',
      'nessun utente': null,
      'utente sconosciuto': null,
      'usuario (?:desconocido|no existe)': null,
      'utilisateur inconnu': null,
      'adresse (?:inconnue|invalide)': null,
      'unknown_?user': null,
      nosuchuser: null,
      'no such object': null,
      "don'?t exists? that user": null,
      'user not local': null,
      'not known at this': null,
      'account not (?:found|local)': '550 acount not found',
      'name is not found': null,
      'name not found':
        '550 Host or domain name not found. Name service error for name=x.example type=MX: Host not found, try again',
      'envelope recipient has been denied': null,
      'is no longer (?:valid|in use|available|with|employed)':
        '550 This person is no longer with the company',
      'has left the (?:company|organi)': null,
      'in virtual mailbox table':
        '550 5.1.1 <neko@example.co.jp>: Recipient address rejected: User unknown in virtual mailbox table',
      'in local recipient table':
        '550 5.1.1 <ada@y.example>: Recipient address rejected: User unknown in local recipient table',
      'in relay recipient table':
        '550 Recipient address rejected: User unknown in relay recipient table',
      'in virtual alias table':
        '550 5.1.1 <ada@x.example>: Recipient address rejected: User unknown in virtual alias table',
    },
    source: `${QMAIL}; ${SISIMAI}`,
  },
  {
    id: 'missing-served',
    kind: 'missing',
    severity: 5,
    phrases: {
      "{served-noun}>?(?: name)?[ :,]{0,2}(?:(?:is|was) ?n(?:ot|'t) |not )(?:being )?{served-word}(?: (?:by|at|on|in|here|to)\\b|$)":
        [
          '550 User is not local',
          '550 5.1.1 user not served here',
          '550 This user is not handled here',
        ],
      "(?:not|don't|doesn't) {serve}(?: mail for)? (?:that|this|any such|such an?|such) {recipient-noun}":
        [
          '550 We do not have such a user',
          "550 we don't handle that mailbox",
          '550 we do not handle mail for that account',
        ],
      '{host-noun}>? (?:is )?not (?:here|on (?:this|our|my) (?:server|system|host|machine|site))\\b':
        [
          '550 That user is not here',
          '553 mailbox is not on this server',
          '550 Recipient is not on this system',
        ],
      'not (?:one of )?our (?:users?|mail ?box(?:es)?|recipients?|accounts?)\\b':
        '550 not our user',
    },
    source: 'small servers that are not of the big families, in their own English',
  },
  {
    id: 'missing-name',
    kind: 'missing',
    severity: 5,
    phrases: {
      '{quoted-noun} (?!{not-a-user}\\b)["\'<[(]?[a-z0-9._+-]{1,64}["\'>\\])]? (?:does not exist|(?:is |was )?(?:unknown|not (?:found|known)))':
        '550 Recipient ada does not exists here, message bounced',
      'inexist[ae]nt (?:user|mail ?box|recipient|account|add?ress?)': '550 inexistent account',
      '(?:user|mail ?box|recipient|account|add?ress?)[^.;]{0,40} inexist[ae]nt':
        '550 The user you want to reach is inexistent',
      'add?ress? you (?:have )?(?:entered|gave|typed|sent to|tried)[^.;]{0,30} (?:be|not) found':
        '550 The email address you entered could not be found. Please check it.',
      '\\bno (?:local )?(?:user|mail ?box|account|recipient) (?:for|named|called|with|matching|by) ':
        '550 no user with this adress',
      '(?:user|mail ?box|account) (?:was |has )never (?:been )?created':
        '550 this mailbox was never created',
      "(?:not|don't) have an account (?:by|with|for|named)":
        "550 we don't have an account by that name",
    },
    source: 'small servers that are not of the big families, in their own English',
  },
  {
    id: 'missing-code-and-text',
    kind: 'missing',
    severity: 5,
    enhanced: /^5\.1\.1$/,
    phrases: {
      'mailbox unavailable':
        '550 5.1.1 Requested action not taken: mailbox unavailable 503 Error: need RCPT command 550 5.1.1 Requested action not taken: mailbox unavailable',
      recipient: '550 5.1.1 <ada@y.example>: Recipient address rejected: y.example',
      'no mailbox':
        '550 Mailbox unknown. Either there is no mailbox associated with this name or you do not have authorization to see it. 5.1.1 User unknown',
      'address rejected': '550 5.1.1 <ada@y.example>: Recipient address rejected: y.example',
    },
    source: RFC3463,
  },
  {
    id: 'moved',
    kind: 'likely_missing',
    severity: 5,
    phrases: {
      'has moved':
        '550 5.1.6 <ada@y.example>: Recipient address rejected: User has moved to ada@z.example',
      'has been replaced': null,
      'address (?:has )?changed': null,
      'please (?:use|update)[^.;]{0,40}new (?:e-?mail )?address': null,
    },
    source: RFC5321,
  },
]

/** Refusals of content, policy or the sender in words that also stand beside others. */
const POLICY_RULES: readonly ReplyRule[] = [
  {
    id: 'content',
    kind: 'blocked',
    phrases: {
      '\\bspam': '550 Message rejected as spam',
      '\\bjunk\\b': null,
      unsolicited:
        '550-5.7.1 [192.0.2.1] Our system has detected that this message is likely unsolicited mail. To reduce the amount of spam sent to Gmail, this message has been blocked.',
      'bulk (?:e-?)?mail': null,
      virus: null,
      malware: null,
      phish: null,
      content: '500 5.6.1 Message content rejected',
      'message {message-word}': [
        '400 4.2.3 Message too big',
        '550 Message rejected as spam',
        '554 5.7.1 [HM08] Message rejected due to local policy.',
      ],
      header: '550 5.7.1 Messages missing a valid Message-ID header are not accepted.',
      attachment:
        '552 5.7.0 Our system detected an illegal attachment on your message. Please visit http://mail.google.com/support/bin/answer.py?answer=6590 to review our attachment guidelines.',
      '\\burls?\\b(?! *https?:)': null,
      '\\bdbl\\b':
        '550 5.7.1 Your email was rejected due to having a domain present in the Spamhaus DBL -- see https://www.spamhaus.org/dbl/',
      'your (?:message|mail|e-?mail)':
        '550 Remote protocol error: Connection reset by peer during result wait with example.edu: 550 Your E-Mail is redundant. You cannot send E-Mail to yourself (shironeko@example.jp).',
      'this (?:message|mail|e-?mail) (?:is|was|has|does|fails|contains|looks)':
        "Resources temporarily unavailable, please try again later [#4.1.9]. /I'm not going to try again; this message has been in the queue too long.",
      'mail rejet': '550 5.2.0 Mail rejete. Mail rejected. ofr_506 [506]',
      'mail (?:was )?(?:rejected|refused|blocked)': '541 5.4.1 Mail rejected by destination domain',
      '8-?bit':
        '550 5.6.9 improper use of 8-bit data in message header 550 5.6.9 improper use of 8-bit data in message header',
      'non compliant': null,
      compliant:
        '550 5.7.1 This message is not RFC 5322 compliant. There are multiple Subject headers.',
      'rfc ?\\d{3,4}':
        '554 5.6.0 Mail message is malformed. Not accepted. For more information, go to Email sender guidelines and review RFC 5322 specifications.',
    },
    source: SISIMAI,
  },
  {
    id: 'policy',
    kind: 'blocked',
    phrases: {
      'polic(?:y|ies)': '550 5.7.1 Policy rejection on the target address',
      'access denied': '554 5.7.1 <ada@y.example>: Recipient address rejected: Access denied',
      'permission denied': null,
      'denied by': null,
      'not (?:allowed|permitted|authorized|welcome)': '550 relay not permitted',
      prohibit: '550 relaying to <ada@x.example> prohibited by administrator',
      administrative: '550 Administrative prohibition',
      security: null,
      violat:
        '550 host neko-nyaan-02.example.org[192.0.2.2] said: 550 5.7.0 Local Policy Violation (in reply to end of DATA command)',
      'refused by': '550 5.4.4 domain not found: refused by name server',
      blocked: '550 Access from ip address 192.0.2.1 blocked.',
      forbidden: null,
      restricted: null,
      'insufficient permission': '550 5.0.0 <kijitora@example.or.jp>... Insufficient permission',
      'contact (?:your|the) (?:postmaster|administrator|admin)':
        '450 4.2.1 Peak SMTP relay limit exceeded for customer. This is a temporary error. For more information on SMTP relay limits, please contact your administrator or visit https://support.google.com/a/answer/6140680',
      'for assistance': null,
      unblock: null,
      whitelist: null,
      'allow ?list': null,
      'protected by': null,
      firewall: null,
      filter: null,
    },
    source: SISIMAI,
  },
  {
    id: 'loop',
    kind: 'server',
    phrases: {
      'too many hops': '554 5.4.6 Too many hops',
      'hop count': '554 5.4.6 Hop count exceeded - possible mail loop',
      'mail loop': '554 5.4.6 Message exceeded 50 hops, this may indicate a mail loop.',
      'loop(?:s|ing)? (?:back|detected)': '554 5.4.6 mail for x.example loops back to myself',
      'loop count': null,
      'message expired':
        '554 4.4.7 Message expired: unable to deliver in 840 minutes.<421 4.4.2 Connection timed out>',
      'retry timeout': null,
      'queue too long':
        "Resources temporarily unavailable, please try again later [#4.1.9]. /I'm not going to try again; this message has been in the queue too long.",
    },
    source: SENDMAIL,
  },
  {
    id: 'protocol',
    kind: 'server',
    phrases: {
      '(?:bad|improper|invalid|wrong|out of) (?:sequence|order|command)':
        '503 Improper sequence of commands',
      'syntax error':
        '501 5.7.11 Syntax error (no parameters allowed). For more information, go to About SMTP error messages and review RFC 3207 specifications.',
      'command (?:unrecogni[sz]ed|not (?:recogni[sz]ed|implemented|supported)|unknown|rejected)':
        '504 5.5.2 <x>: Helo command rejected: need fully-qualified hostname',
      'unrecogni[sz]ed (?:command|parameter)': '500 unrecognized command',
      'need (?:mail|rcpt)':
        '525 5.7.13 Disabled recipient address 503 5.0.0 Need RCPT (recipient) 525 5.7.13 Disabled recipient address',
      'protocol (?:error|violation)':
        '523 5.7.10 SMTP protocol violation, no commands allowed to pipeline after STARTTLS. For more information, go to About SMTP error messages and review RFC 3207 specifications.',
      pipelin:
        '523 5.7.10 SMTP protocol violation, no commands allowed to pipeline after STARTTLS. For more information, go to About SMTP error messages and review RFC 3207 specifications.',
      unimplemented: null,
      'not implemented': '502 Command not implemented',
    },
    source: RFC5321,
  },
  {
    id: 'server-fault',
    kind: 'server',
    phrases: {
      '{server-part} ?(?:server |system )?{server-fault}': [
        '450 4.0.0 Temporary failure',
        '500 5.3.5 System config error',
        '554 5.3.0 unknown mailer error 255',
      ],
      'try (?:again|later|your)': '421 4.7.0 Try again later',
      'timed? ?out': '426 connection timed out',
      'connection (?:reset|lost|closed|timed)': '426 connection timed out',
      'service (?:unavailable|not available|refuse|currently)':
        '550 5.5.0 Service refuse. Veuillez essayer plus tard. LPN001_108',
      'temporar(?:y|ily)': '450 4.0.0 Temporary failure',
      'unknown mailer': '554 5.3.0 unknown mailer error 255',
      'out of service': null,
      overload: null,
      'system (?:config|not|is)': '500 5.3.5 System config error',
      'could not (?:load|connect|contact)':
        '451 host example.com.inbound22.mxlogic.net[192.0.2.225] said: 451 Could not load DRD for domain (example.com) rcpt (kijitora@example.com) (in reply to RCPT TO command)',
      'transaction failed': '554 Transaction failed Reject due to policy restrictions.',
      'not enough': null,
      'shutting down': null,
      maintenance: '550 mailbox is undergoing maintenance',
    },
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
    phrases: {
      host: '550 5.1.2 <ada@y.example>... Host unknown',
      domain: '550 5.4.4 Invalid domain',
      system: '500 5.3.5 System config error',
      server:
        '550 5.1.2 <nekochan@libsisimai.org>... Host unknown (Name server: .: host not found)',
      dns: '554 host mx.nyaan.example.com [192.0.2.222] SMTP error from remote mail server after initial connection: 554 5.7.1 [C14] Missing reverse DNS for 203.0.113.2',
      'mx\\b':
        '550 host mx.user.example.or.jp[192.0.2.22] said: 550 <kijitora@user.example.or.jp>: User unknown',
    },
    source: RFC3463,
  },
  {
    id: 'domain-text',
    kind: 'no_domain',
    severity: 5,
    phrases: {
      "(?:host|domain)(?: name)?[^.;]{0,30}(?:unknown|not found|does ?n[o']t exist|invalid)":
        '550 Host unknown',
      '{domain-unknown} {domain-of}?(?:host|domain)': '550 5.4.4 Invalid domain',
      "couldn'?t find (?:any host|a mail exchanger)":
        "Sorry, I couldn't find a mail exchanger or IP address. (#5.4.4)",
      "(?:weren'?t|wasn'?t) able to find the recipient domain":
        "553 5.1.2 We weren't able to find the recipient domain. Please check for any spelling errors.",
      'no mail (?:exchanger|server|host) for': null,
      'all relevant mx records point to non-existent': null,
      'unrouteable (?:mail )?domain': null,
      '(?:^|data: )(?:\\d{3} )?(?:[245]\\.\\d{1,3}\\.\\d{1,3} )?[a-z0-9-]{1,63}(?:\\.[a-z0-9-]{1,63}){0,7}\\.[a-z][a-z0-9-]{1,62} does not exist$':
        '553 host mx.example.net [192.0.2.222] SMTP error from remote mail server after end of data: 553 neko.example.com does not exist',
    },
    source: `${SENDMAIL}; ${SISIMAI}`,
  },
  {
    id: 'takes-no-mail',
    kind: 'no_mail',
    severity: 5,
    phrases: {
      'null ?mx':
        '556 5.1.10 <ada@y.example>: Recipient address rejected: Domain y.example does not accept mail (nullMX)',
      'indicated no smtp service': null,
      '(?:does|do) not accept (?:any )?(?:e-?)?mail(?:$|[.,; ]*(?:\\(|rfc))':
        '556 5.1.10 <ada@y.example>: Recipient address rejected: Domain y.example does not accept mail (nullMX)',
    },
    source: 'RFC 7505 4.1, 4.2',
  },
]

/** Words that say less, and codes; the last to be asked. */
const CODE_RULES: readonly ReplyRule[] = [
  {
    id: 'user-reject',
    kind: 'filtered',
    phrases: {
      'user reject': '550 5.1.2 User reject',
      'permanent failure for one or more recipients':
        '550 permanent failure for one or more recipients (ada@x.example:550 5.1.1 User unknown)',
      'not accepting (?:e-?)?mail': '550 ada@y.example IS NOT ACCEPTING MAIL FROM THIS SENDER',
      'declined by recipient': null,
    },
    source: SISIMAI,
  },
  {
    id: 'mailbox-unavailable',
    kind: 'likely_missing',
    severity: 5,
    phrases: {
      '{unavailable-noun} (?:is )?(?:currently )?{unavailable-word}':
        '550 Requested action not taken: mailbox unavailable',
      'undeliverable address':
        '450-550 5.1.1 <ada@x.example>: Recipient address rejected: undeliverable address: User unknown',
    },
    source: RFC5321,
  },
  {
    id: 'recipient-rejected',
    kind: 'likely_missing',
    severity: 5,
    // A policy that refuses the recipient to us says nothing of the mailbox.
    notEnhanced: /^5\.7\./,
    phrases: {
      '{recipient-word}(?: address)? (?:was |is |has been )?{rejected-word}[.!]?(?: *\\(in reply to rcpt to command\\)| <?someone@\\S{1,100})?$':
        [
          '550 #5.1.0 Address rejected.',
          '550 host mx.nn.auone-net.jp[192.0.2.222] said: 550 <neko-nyaan@ne.auone-net.jp>: Recipient address rejected. (in reply to RCPT TO command)',
        ],
      'invalid (?:recipients?|mail ?box|address)\\b':
        '550 Invalid recipient <ada@y.example> (#5.1.1)',
      '(?:address|mailbox|recipient|user)s? (?:is |are )?invalid':
        '550 The following recipient is invalid: ada@x.example',
      'rejected recipient':
        '550 5.1.1 downstream rejected recipient: 550 5.1.10 RESOLVER.ADR.RecipientNotFound',
      'recipient invalid': null,
      'possibly incorrect': null,
      "recipient[^.;]{0,20} (?:cannot|can't|could not) be verified": null,
    },
    source: `${POSTFIX}; ${SISIMAI}`,
  },
  {
    id: 'bare-words',
    kind: 'likely_missing',
    severity: 5,
    phrases: {
      '^(?:\\d{3}[ -])?(?:[245]\\.\\d{1,3}\\.\\d{1,3} )?(?:sorry[,:]? )?(?:{bare-missing}[.!]?$|not {handled} (?:by|on|at|in) (?:this|our|the) (?:mail )?{mail-system}\\b)':
        ['550 Not found.', '550 Does not exist', '550 5.1.1 does not exist'],
    },
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
export const REPLY_RULES: readonly CompiledRule[] = [
  ...SENDER_CODE_RULES,
  ...PROVIDER_RULES,
  ...EXISTS_RULES,
  ...SENDER_RULES,
  ...MAILBOX_RULES,
  ...FOREIGN_RULES,
  ...POLICY_RULES,
  ...DOMAIN_RULES,
  ...CODE_RULES,
].map(compileRule)
