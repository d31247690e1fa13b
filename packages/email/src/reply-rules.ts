import { FOREIGN_RULES } from './foreign-rules.ts'
import { PROVIDER_RULES } from './provider-rules.ts'
import { compileRule } from './reply-rule.ts'
import type { CompiledRule, ReplyRule } from './reply-rule.ts'
import { SOURCES } from './sources.ts'

/** Codes that are about the sender, whatever the text says. */
const SENDER_CODE_RULES: readonly ReplyRule[] = [
  { id: 'sender-code', kind: 'blocked', enhanced: /^[45]\.1\.[789]$/, source: SOURCES.rfc3463 },
]

/** A rate limit or restriction of the mailbox itself. */
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
    source: SOURCES.google,
  },
  {
    id: 'only-members',
    kind: 'filtered',
    phrases: {
      'only accept(?:s|ing)? (?:e-?)?mail from':
        'Recipient is only accepting mail from specific email addresses',
      'may not exist, or you may not have permission':
        "We're writing to let you know that the group you tried to contact (ada) may not exist, or you may not have permission to post messages to the group.",
      'only (?:internal|authenticated|registered) (?:senders|users)':
        '550 5.7.129 only authenticated senders',
      'not accepting mail from (?:you|this sender|unknown)':
        '550 ada@y.example IS NOT ACCEPTING MAIL FROM THIS SENDER',
      'has restricted (?:sms )?e-?mail': '<ada@x.example> has restricted SMS e-mail',
    },
    source: SOURCES.sisimai,
  },
]

/** Refusals of the sender; they decide even if the text also mentions a mailbox. */
const SENDER_RULES: readonly ReplyRule[] = [
  {
    id: 'greylist',
    kind: 'greylist',
    phrases: {
      'gr[ea]y-?(?: )?list': [
        '451 4.7.1 <ada@y.example>: Recipient address rejected: Greylisted for 5 minutes',
        '451 4.7.1 Greylisting in action, please come back in 00:05:00',
      ],
      postgrey:
        '450 4.2.0 <ada@x.example>: Recipient address rejected: Greylisted, see http://postgrey.schweikert.ch/help/x.example.html',
    },
    source: 'postgrey, milter-greylist and Barracuda texts',
  },
  {
    id: 'smtputf8',
    kind: 'smtputf8',
    phrases: {
      smtputf8: '550 5.6.7 SMTPUTF8 is required, but was not offered by host',
      'non-ascii addresses? (?:not|isn)':
        '550 5.6.7 Non-ASCII addresses not permitted for that sender/recipient',
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
      originator: '550 originator address does not exist',
      'reverse[- ]path': '501 Reverse path is not a valid mailbox',
      'sending (?:address|account)': 'Sending address not accepted due to spam filter',
      '(?:mailbox|address) of (?:the )?sender': '553 malformed address of sender: unknown mailbox',
      '(?:mail|message)s? from (?:an? )?(?:unknown|invalid|unverified|non-?exist)':
        '550 Mail from unknown user refused',
      '(?:user|address|domain|mail ?box|syntax) in (?:the )?(?:mail ?from|mail|from)\\b':
        '550 Invalid user in MAIL FROM',
      '(?:unknown|no such|nonexistent|unrecogni[sz]ed|unroutable|unverified) sender': [
        '550 No such sender',
        '550 Unroutable sender address',
      ],
      '(?:allowed|permitted|authori[sz]ed) to send':
        "550 5.1.0 192.0.2.222 is not allowed to send from <example.net> per it's SPF Record",
      '(?:dns mx|mx) or a(?:/aaaa)? resource':
        '550 Requested action not taken: mailbox unavailable invalid DNS MX or A/AAAA resource record',
      '(?:block|reject)(?:ed|ing)? (?:the )?sender':
        '550 Rejected by header-based Blocked Senders - Block policy for Header From',
      '(?:domain|part) of (?:the )?sender':
        '553 5.1.8 <verify@s.example>... Domain of sender address verify@s.example does not exist',
      'sender.{0,80}{not-resolved}': [
        '550 the senders mailbox does not exist',
        '550 5.1.1 verifier.sender.test does not exist',
      ],
      'bad sender': '501 5.1.7 Bad sender address syntax',
      'call-?back (?:to|of) (?:the )?sender':
        '550 callback to the sender address failed: 550 No such user',
      '(?:from|return)[ -]?(?:path|address)': '550 From address not found',
      'mail from:? ?(?:domain|address|command)': '550 mail from: address not valid',
      'null sender': '550 Requested action not taken: NULL sender is not allowed',
      'empty envelope': 'Empty envelope senders not allowed',
      'does not accept bounce': '550 ada@x.example does not accept bounces',
      mailfrom: '553 sorry, your envelope sender is in my badmailfrom list (#5.7.1)',
      'sending domain':
        '550 5.7.509 Access denied, sending domain [EXAMPLE.JP] does not pass DMARC verification and has a DMARC policy of reject.',
      'from domain': '451 Message temporarily deferred due to unresolvable RFC.5321 from domain.',
      'your domain': '553 Sorry, your domain has been blacklisted',
      'your e-?mail (?:address|account)': '553 Sorry, your email address has been blacklisted',
      'your (?:address|account)': '421 4.7.0 Too many connections from your address',
      '(?:you are sending|sending this) from':
        'sending this from a different address or alias using the',
    },
    source: `${SOURCES.postfix}; ${SOURCES.exim}`,
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
      cloudmark:
        '554 Connection refused. This IP has a poor reputation on Cloudmark Sender Intelligence (CSI). IB103',
      senderbase: 'smtp-fw-9107.amazon.com; SBRS score too low: http://www.senderbase.org/',
      senderscore:
        '550 5.5.0 The emails sent to the mail host Laposte.net were blocked by our services. To regularize your situation please click on the link below and follow the procedure https://senderscore.org/blacklistlookup/ LPN007_102',
      uceprotect:
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using dnsbl-1.uceprotect.net',
      invaluement:
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using sip.invaluement.com',
      mailspike:
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using bl.mailspike.net',
      'nix ?spam':
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using ix.dnsbl.manitu.net; Your e-mail service was detected by mail.ixlab.de (NiX Spam) as spamming.',
      backscatterer:
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using ips.backscatterer.org',
      ipcheck: '550 5.7.0 Blocked - see https://ipcheck.proofpoint.com/?ip=192.0.2.1',
      'prs\\.proofpoint':
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using safe.dnsbl.prs.proofpoint.com',
      dnsbl: [
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using dnsbl.sorbs.net',
        '554 5.7.0 Blocked - see https://support.proofpoint.com/dnsbl-lookup.cgi?ip=192.0.2.1',
      ],
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
      '\\bcsi\\.':
        '550 mwinf5c04 ME Adresse IP source bloquee pour incident de spam. Client host blocked for spamming issues. OFR006_102 Ref http://csi.cloudmark.com',
      '0spam': '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using bl.0spam.org',
      manitu:
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using ix.dnsbl.manitu.net',
      njabl:
        '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using combined.njabl.org',
      '\\bivmsip': 'Blocked by ivmSIP',
    },
    source: 'names of DNS blocklists',
  },
  {
    id: 'blocklist-word',
    kind: 'blocked',
    phrases: {
      '(?:black|block(?:ing)?|deny|ban|bad|spam)[ -]?list(?:ed|ing|s)?\\b':
        '550 Your IP has been blacklisted',
      '(?<!not )\\blisted (?:in|at|by|on)\\b':
        'Unable to add ada@y.example because host 192.0.2.1 is listed on zen.spamhaus.org',
      'found (?:in|on) (?:one or more |an? )?dns':
        '554 mx.example.jp 192.0.2.25 found on one or more DNSBLs, see https://postmaster.comcast.net/smtp-error-codes.php#BL000001',
      '\\bbanned\\b': '550 5.7.606 Access denied, banned sending IP [192.0.2.1].',
    },
    source: SOURCES.sisimai,
  },
  {
    id: 'reputation',
    kind: 'blocked',
    phrases: {
      reputation:
        "554 Your access to this mail system has been rejected due to the sending MTA's poor reputation.",
      '\\bsbrs\\b': 'smtp-fw-9107.amazon.com; SBRS score too low: http://www.senderbase.org/',
      spamming:
        '550 mwinf5c04 ME Adresse IP source bloquee pour incident de spam. Client host blocked for spamming issues. OFR006_102 Ref http://csi.cloudmark.com',
      suspicious: '450 4.4.318 Connection was closed abruptly (SuspiciousRemoteServerError)',
      abusive: '550 5.7.0 Server IP 192.0.2.1 listed as abusive.',
      'too much spam':
        '451 4.3.0 <x.example[192.0.2.1]>: Client host rejected: Throttled - Too much spam from your mail server. Try again later.',
    },
    source: SOURCES.sisimai,
  },
  {
    id: 'reverse-dns',
    kind: 'blocked',
    phrases: {
      'reverse[ -](?:dns|lookup|record|name|address|mapping|hostname)':
        '554 host mx.nyaan.example.com [192.0.2.222] SMTP error from remote mail server after initial connection: 554 5.7.1 [C14] Missing reverse DNS for 203.0.113.2',
      '\\brdns\\b': '550 Invalid RDNS entry for 192.0.2.1',
      '\\bptrs?\\b':
        '550 5.7.25 [192.0.2.25] The IP address sending this message does not have a PTR record setup',
      "(?:cannot|can't|could not|unable to) (?:find|resolve|verify|lookup|look up) your|unable to resolve":
        '450 4.7.1 Client host rejected: cannot find your hostname, [192.0.2.1]',
      '(?<!user |mailbox |account |recipient |email address |alias )lookup failed':
        '450 4.7.1 Access denied. IP name lookup failed [192.0.2.222] 450 4.7.1 Access denied. IP name lookup failed [192.0.2.222]',
      'name (?:service|server) error for name':
        '550 Host or domain name not found. Name service error for name=x.example type=MX: Host not found, try again',
      'dynamic(?:ally)?[ -](?:ip|address|assigned|looking|host|range)':
        '550 We do not accept mail from hosts with dynamic IP or generic DNS PTR-records.',
      'generic (?:dns )?(?:host|rdns|ptr)':
        '550 We do not accept mail from hosts with dynamic IP or generic DNS PTR-records.',
      'dial-?up': 'dial-up or dynamic-ip denied',
      residential:
        '554- (RTR:DU) http://postmaster.info.aol.com/errors/554rtrdu.html 554- AOL does not accept e-mail transactions from dynamic or residential 554 IP addresses.',
      'host ?name (?:lookup|does not|not found|mismatch|verif)':
        '550 5.1.2 <ada@x.example>... Host unknown (Name server: mx.x.example.: host name lookup failure)',
      'ip (?:address )?(?:not resolv|does not (?:properly )?resolve|has no)':
        '550 IP address does not properly resolve for reverse DNS lookup',
      'unverifyable sending':
        '450 service permits 2 unverifyable sending IPs - neko.example.com is not 203.0.113.2',
      unresolvable: '451 Message temporarily deferred due to unresolvable RFC.5321 from domain.',
      'fix (?:your )?(?:reverse|dns)':
        '550 5.7.1 Connections not accepted from servers without a valid sender domain. Fix reverse DNS for 203.0.113.2',
      'host rejected':
        '554 5.7.1 <verifier.example[192.0.2.1]>: Client host rejected: Access denied',
      'client host': '554 5.7.1 <verifier.example[192.0.2.1]>: Client host rejected: Access denied',
    },
    source: `${SOURCES.postfix}; ${SOURCES.sisimai}`,
  },
  {
    id: 'authentication',
    kind: 'blocked',
    phrases: {
      '\\bspf\\b': '550 5.7.23 SPF validation failed',
      '\\bdkim\\b':
        "421 4.7.32 Your email has been rate limited because the From: header (RFC5322) in this message isn't aligned with either the authenticated SPF or DKIM organizational domain.",
      '\\bdmarc\\b': '550 5.7.1 Email rejected per DMARC policy for zoho.com',
      authenticat: [
        '550 SPF: sender is unauthenticated',
        'Relaying Denied: Authenticate with POP first',
      ],
      'smtp auth': [
        '550 Please turn on SMTP Authentication in your mail client',
        '550-x.example [192.0.2.1] is currently not permitted to relay through this server. Perhaps you have not logged into the pop/imap server in the last 30 minutes or do not have SMTP Authentication turned on in your email client.',
      ],
      'auth (?:required|first)': '503 Error: need EHLO and AUTH first !',
      'not authori[sz]ed': '550 5.7.1 RESOLVER.RST.NotAuthorized; not authorized',
      'unauthori[sz]ed': '500 Unauthorized relay msg rejected',
      'authori[sz]ation':
        '550 Mailbox unknown. Either there is no mailbox associated with this name or you do not have authorization to see it. 5.1.1 User unknown',
      password:
        '535 5.7.1 Username and Password not accepted. For more information, visit https://support.google.com/accounts/troubleshooter/2402620',
    },
    source: `${SOURCES.google}; ${SOURCES.sisimai}`,
  },
  {
    id: 'helo',
    kind: 'blocked',
    phrases: {
      '\\behlo\\b': '501 5.5.4 HELO/EHLO argument is invalid.',
      '\\bhelo\\b': '501 5.5.4 HELO/EHLO argument is invalid.',
      'fully[ -]qualified': '504 5.5.2 <x>: Helo command rejected: need fully-qualified hostname',
    },
    source: SOURCES.postfix,
  },
  {
    id: 'tls-needed',
    kind: 'blocked',
    phrases: {
      '\\btls (?:is )?(?:required|needed|encryption)':
        '421 4.7.0 TLS required for RCPT domain, closing connection. For more information, go to Email encryption in transit. https://support.google.com/mail/answer/6330403',
      'starttls (?:command )?(?:first|required)': '530 Must issue a STARTTLS command first',
      'must issue a starttls': '530 Must issue a STARTTLS command first',
      'encryption (?:needed|required)|encrypted connection': '523 5.7.10 Encryption Needed',
    },
    source: `${SOURCES.google}; RFC 3207`,
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
      '(?:rate|connection|frequency|volume|sending)[ -](?:limit|control|exceed)|limits? exceeded for (?:your|ip|host)':
        '550 Connection frequency limited',
      'message[ -](?:rate[ -])?limit':
        '450 4.2.1 The recipient has exceeded message rate limit. Try again later.',
      'rate[ -]?limit': '450 4.2.1 The recipient has exceeded message rate limit. Try again later.',
      throttl: [
        '454 Throttling failure: Maximum sending rate exceeded.',
        '421 4.1.0 192.0.2.1 Throttled - try again later. Please see https://postmaster.comcast.net/smtp-error-codes.php#RL000003',
      ],
      excessive:
        '421 4.7.1 Messages to ****@icloud.com deferred due to excessive volume. Try again later - https://support.apple.com/en-us/HT204137',
      'unusual rate': '421 4.7.28 Gmail has detected an unusual rate of mail (originating from)',
      'too (?:fast|frequent|quick)': '450 User is receiving mail too quickly',
      'exceeded (?:(?:the )?(?:rate|max(?:imum)? number|connection|sending|hourly|daily|your)|the .{0,20}(?:rate|connection))':
        [
          '421 Connection Refused - Customer has exceeded the maximum number of messages allowed per hour',
          '550 This message has exceeded the max number of messages per session. Open a new session and try again. IB510',
        ],
      frequency: '550 Connection frequency limited',
      'messages? (?:per|from) .{0,60}(?:deferred|limit)':
        '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints',
      'slow down':
        '421 mwinf5c79 ME Trop de connexions, veuillez verifier votre configuration. Too many connections, slow down. OFR005_104 [104]',
      'relay quota|quota for (?:your|sender|today)':
        "554 SMTP error from remote mail server after initial connection: host email-22.example.net [192.0.2.222]: 554 neko-22.nyaan.r.example.net : CAT : neko22 : CAT : You've reached your daily relay quota - 203.0.113.0",
      '(?:max(?:imum)?(?: number of)?|no more) (?:connections?|messages?|recipients)': [
        '552 5.2.3 Message size exceeds fixed maximum message size (10485760) 552 5.2.3 Message size exceeds fixed maximum message size (10485760)',
        '421 Max message per connection reached, closing transmission channel',
      ],
      'reached your':
        "554 SMTP error from remote mail server after initial connection: host email-22.example.net [192.0.2.222]: 554 neko-22.nyaan.r.example.net : CAT : neko22 : CAT : You've reached your daily relay quota - 203.0.113.0",
      // No reply with it was found. It keeps a limit from being classified as a policy refusal.
      'resources? restricted': null,
      'deferred due to':
        '421 4.7.1 Messages to ****@icloud.com deferred due to excessive volume. Try again later - https://support.apple.com/en-us/HT204137',
      'unexpected volume':
        '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints',
      'user complaints':
        '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints',
    },
    source: SOURCES.sisimai,
  },
  {
    id: 'our-address',
    kind: 'blocked',
    phrases: {
      '{our-side} ?{our-host}\\b.{0,60}{blocked-word}':
        '550 Access from ip address 192.0.2.1 blocked.',
      '{refusing}\\w{0,10} .{0,40}{from-us}':
        '550 5.7.25 The IP address sending this message does not have a PTR record setup, or the corresponding forward DNS entry does not point to the sending IP. As a policy, Gmail does not accept messages from IPs with missing PTR records.',
      '\\bip[=: ]\\s*\\[?\\d{1,3}(?:\\.\\d{1,3}){3}':
        '550 5.7.606 Access denied, banned sending IP [192.0.2.1].',
      'ip address \\[?\\d{1,3}(?:\\.\\d{1,3}){3}': '550 Access from ip address 192.0.2.1 blocked.',
      'blocked ip':
        '550 Connection frequency limited [Q1YzZ3kxdnRYYnpkbVZ0MAo+QTMzMTMzRjUxNzQ4Cg/MTI3MTY2MDge= Blocked IP 192.0.2.22]. http://service.mail.qq.com/cgi-bin/help?subtype=1&&id=20022&&no=1000722',
      'ip .{0,30}blocked': '550 Access from ip address 192.0.2.1 blocked.',
      'ips? block': 'Dynamic/zombied/spam IPs blocked',
      'bad (?:ip|host)': 'Extreme bad IP profile',
      'host .{0,40}(?:is )?(?:blocked|refused|denied)':
        '421 delivery temporarily suspended: host mfsmax.example.net[203.0.113.127] refused to talk to me: 421 Service not available, closing transmission channel',
      'connection (?:refused|rejected|denied|blocked|dropped)':
        '550 5.4.316 Message expired, connection refused(Socket error code 10061)',
      'refused (?:connection|by)': '550 5.4.4 domain not found: refused by name server',
      'not accept(?:ing)? (?:connections?|mail|e-?mails?|messages?) from|no mail (?:from|accepted)':
        '550 ada@y.example IS NOT ACCEPTING MAIL FROM THIS SENDER',
      'we do not accept':
        '550 We do not accept mail from hosts with dynamic IP or generic DNS PTR-records.',
      'connections? (?:will )?not (?:be )?accepted':
        "553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.25, because the ip is in Spamhaus's list; see http://postmaster.yahoo.com/550-bl23.html",
      'go away': 'go away',
      'sending (?:ip|server|mta)|originating ip':
        '550 5.7.606 Access denied, banned sending IP [192.0.2.1].',
    },
    source: SOURCES.sisimai,
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
    source: `${SOURCES.sisimai}; in a reply to us, "your" means us`,
  },
  {
    id: 'content-proper',
    kind: 'blocked',
    phrases: {
      'detected as spam':
        '554 5.7.1 Email cannot be delivered. Reason: Email detected as Spam by spam filters.',
      'attachment|file ?names?\\b':
        '552 5.7.0 Our system detected an illegal attachment on your message. Please visit http://mail.google.com/support/bin/answer.py?answer=6590 to review our attachment guidelines.',
      'message-id': '550 5.7.1 Messages missing a valid Message-ID header are not accepted.',
      '\\bheaders?\\b|subject:':
        '550 5.7.1 Messages missing a valid Message-ID header are not accepted.',
      'from: header':
        "421 4.7.32 Your email has been rate limited because the From: header (RFC5322) in this message isn't aligned with either the authenticated SPF or DKIM organizational domain.",
    },
    source: SOURCES.sisimai,
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
      '{unable} (?:to )?relay': [
        '550 5.7.1 Unable to relay for ada@x.example',
        '500 Unauthorized relay msg rejected',
      ],
      rcpthosts: "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)",
      'not (?:a )?local (?:host|domain|address|to this)':
        '550 not local host x.example, not a gateway',
      'relay(?:ing)? (?:is )?(?:from|to|through|for|by)':
        '550 relaying to <ada@x.example> prohibited by administrator',
      'not (?:an? )?(?:open|mail) relay': 'Not an open relay, so get lost',
      'not a gateway': '550 not local host x.example, not a gateway',
      'local (?:delivery|user) only': '550 Local user only or Authentication mechanism',
      '(?:domain|host) (?:is )?not {not-served}': '550 this domain is not handled by this system',
      "that domain isn't": "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)",
      'no such domain (?:here|at this location)':
        '550 No such domain at this location (ada@x.example)',
      "don't (?:handle|accept|host) mail for|does not (?:accept|handle|host|serve|receive) (?:e-?mail|mail|messages) for(?! (?:that|this|the|such an?) {user-noun})":
        "We don't handle mail for x.example",
      'insecure mail relay': 'Insecure mail relay',
      'through this server|must be (?:sent|delivered) (?:to|through|via)':
        '550-x.example [192.0.2.1] is currently not permitted to relay through this server. Perhaps you have not logged into the pop/imap server in the last 30 minutes or do not have SMTP Authentication turned on in your email client.',
    },
    source: `${SOURCES.postfix}; ${SOURCES.sendmail}; ${SOURCES.qmail}`,
  },
]

/**
 * Replies with a permanent code for a temporary state, or for a failure of a system that the server
 * depends on. They precede the rules about the mailbox, since a server whose directory fails may also
 * say "user unknown".
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
    source: 'Exim and gateway texts for a recipient that could not be verified',
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
    source: "texts of hosting providers that hold an account's mail back",
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
    source: 'RFC 5321 4.2.1: a temporary state requires a 4xx, but many servers reply 550',
  },
]

/** Explicit statements about the mailbox. */
const MAILBOX_RULES: readonly ReplyRule[] = [
  {
    id: 'full-text',
    kind: 'full',
    phrases: {
      '{store-noun}(?: <?someone@[^\\s@]{1,100})?[^.;]{0,60}(?:\\bfull\\b|{over} {its}{0,4}{space})':
        [
          '552 5.2.2 <****@icloud.com>: user is over quota (in reply to RCPT TO command)',
          '552 5.2.2 <mailboxfull@libsisimai.net>: Recipient address rejected: Mailbox full',
          '550 host mx.example.jp[192.0.2.22] said: 550 5.2.2 <noraneko@example.jp>... Mailbox Full (in reply to RCPT TO command)',
        ],
      '{over-or-violating}[ -]{its-quota}{0,4}quota': [
        '552 5.2.2 Over quota',
        '522 5.2.0 Delivery failed: Over quota',
        '552 5.2.2 <****@icloud.com>: user is over quota (in reply to RCPT TO command)',
      ],
      'quota (?:is )?(?:exceed|exhausted|full|violation|reached|limit|usage)':
        '452 4.2.2 Mailbox quota exceeded',
      '(?:disk|mail|mailbox|storage|user|disc|diskspace)[ -]?quota':
        '452 4.2.2 Mailbox quota exceeded',
      'full mailbox': '552 4.2.2 User has full mailbox',
      '\\bmailbox[a-z ]{0,20} is full': '552 5.2.2 mailbox is full',
      '(?:over|under) ?quota': '552 5.2.2 Over quota',
      'no(?:t enough| more)? (?:storage |disk |free )?(?:space|storage)[^.;]{0,30}(?:mailbox|user|recipient|account)|user has not enough (?:disk ?)?space':
        'The user has not enough diskspace available',
      shutoffquota:
        '#550 5.2.2 STOREDRV.Deliver: mailbox full. The following information should help identify the cause: "MapiExceptionShutoffQuotaExceeded:16.18969:9C040000',
      'mailbox size limit': 'Mailbox size limit exceeded',
    },
    source: SOURCES.sisimai,
  },
  {
    id: 'full-storage',
    kind: 'full',
    severity: 5,
    phrases: {
      'exceeded storage allocation':
        '552 Requested mail action aborted: exceeded storage allocation',
    },
    source: SOURCES.rfc5321,
  },
  { id: 'full-code', kind: 'full', enhanced: /^[45]\.2\.2$/, source: SOURCES.rfc3463 },
  ...TEMPORARY_RULES,
  {
    id: 'storage-of-server',
    kind: 'server',
    phrases: {
      'insufficient (?:system|disk|storage|resource)':
        '452 4.3.1 Insufficient system resources (TSTE)',
      'system storage': '452 Requested action not taken: insufficient system storage',
      'no space left':
        'cannot update mailbox /var/mail/ada for user ada. error writing message: No space left on device',
      'mail system full': '550 5.3.1 Mail system full',
      'not enough (?:disk|(?:(?:storage|free) ?)?(?:space|storage))': 'Not enough storage space',
      'out of (?:memory|disk|space)|low on disk': '421 out of memory (#4.3.0)',
    },
    source: SOURCES.rfc5321,
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
      '(?:mailbox|account) (?:is )?not (?:active|available|activated|enabled)':
        '550 <ada@x.example>... User account not activated',
      'extended inactivity':
        'Due to extended inactivity new mail is not currently being accepted for this mailbox.',
      'suspend the service': '550 5.0.0 Recipient suspend the service',
      'no longer (?:accepts?|accepting|receives?|receiving) (?:e-?)?mail':
        'This address no longer accepts mail.',
    },
    source: SOURCES.sisimai,
  },
  {
    id: 'missing-text',
    kind: 'missing',
    severity: 5,
    phrases: {
      '{missing-noun}(?:\\(s\\)|s)?{missing-filler}{0,4}[ :]{0,2}\\(?{address-in-brackets}?\\)?[ :,-]{0,3}(?:is |was |are )?{missing-state}':
        ['550 5.1.1 User Unknown', '550 Recipient not found', '550 5.1.1 Mailbox does not exist'],
    },
    source: `${SOURCES.postfix}; ${SOURCES.exim}; ${SOURCES.sendmail}; ${SOURCES.sisimai}`,
  },
  {
    id: 'missing-unknown',
    kind: 'missing',
    severity: 5,
    phrases: {
      '{unknown-word}(?: or {or-unknown})? {which}{0,4}{mailbox-noun}': [
        '550 5.7.1 No such user!',
        '550 Unrouteable address',
        '550 No such user (ada@y.example)',
      ],
    },
    source: `${SOURCES.postfix}; ${SOURCES.exim}; ${SOURCES.sendmail}; ${SOURCES.sisimai}`,
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
      "isn'?t in my (?:list of )?(?:valid|allowed )?(?:rcptto|recipients)":
        "isn't in my list of allowed recipients",
      validrcptto: '553 sorry, this recipient is not in my validrcptto list (#5.7.1)',
      badrcptto: '553 sorry, your envelope recipient is in my badrcptto list (#5.7.1)',
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
      'bad destination (?:mailbox|email|e-mail)':
        '501 5.1.3 <ada@x.example>: Recipient address rejected: Bad destination mailbox address syntax.',
      "(?:can't accept|cannot accept mail for this) (?:user|recipient)": "Can't accept user",
      'rejected recipients': 'Destination server rejected recipients',
      'verify (?:the (?:recipient|email)|that you have the correct email) address':
        '550 5.1.1 - This is not a valid email address. Please verify that you have the correct email address for your recipient.',
      'the (?:email )?(?:address|user) you (?:are trying|tried|entered)[^.;]{0,40}(?:not|invalid|wrong)':
        '550 The email address you entered could not be found. Please check it.',
      'wrong or no longer': 'This email address is wrong or no longer valid',
      '5\\.1\\.1 bad address': '550 5.1.1 #5.1.1 bad address ada@x.example',
      '(?:nosuch|unknown)_?user':
        '550 5.1.1 https://support.google.com/mail/?p=NoSuchUser x-20020a - gsmtp',
      // No reply with it was found. LDAP servers report a missing entry so (RFC 4511).
      'no such object': null,
      'does not exist that user': "local server don't exists that user",
      'user not local': '551 User not local; please try <ada@z.example>',
      'not known (?:at|to) this': [
        'not known at this site',
        'This email address is not known to this system',
      ],
      'account not (?:found|local)': '550 acount not found',
      'envelope recipient has been denied': 'sorry, your envelope recipient has been denied',
      'is no longer (?:valid|in use|available|with|employed)':
        '550 This person is no longer with the company',
      'has (?:departed|left the (?:company|organi))': 'This person has departed',
      'in virtual mailbox table':
        '550 5.1.1 <neko@example.co.jp>: Recipient address rejected: User unknown in virtual mailbox table',
      'in local recipient table':
        '550 5.1.1 <ada@y.example>: Recipient address rejected: User unknown in local recipient table',
      'in relay recipient table':
        '550 Recipient address rejected: User unknown in relay recipient table',
      'in virtual alias table':
        '550 5.1.1 <ada@x.example>: Recipient address rejected: User unknown in virtual alias table',
    },
    source: `${SOURCES.qmail}; ${SOURCES.sisimai}`,
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
    source: SOURCES.rfc3463,
  },
  {
    id: 'moved',
    kind: 'likely_missing',
    severity: 5,
    phrases: {
      'has moved':
        '550 5.1.6 <ada@y.example>: Recipient address rejected: User has moved to ada@z.example',
      'has been replaced': '550 5.1.6 address ada@x.example has been replaced by ada@y.example',
      '(?:address|email) (?:has )?changed|please (?:use|update)[^.;]{0,40}new (?:e-?mail )?address':
        'email has changed',
    },
    source: SOURCES.rfc5321,
  },
]

/** Refusals because of content, policy or the sender, in words that other refusals use too. */
const POLICY_RULES: readonly ReplyRule[] = [
  {
    id: 'content',
    kind: 'blocked',
    phrases: {
      '\\bspam': '550 Message rejected as spam',
      '\\bjunk\\b': '550 sorry, it seems as a junk mail',
      unsolicited:
        '550-5.7.1 [192.0.2.1] Our system has detected that this message is likely unsolicited mail. To reduce the amount of spam sent to Gmail, this message has been blocked.',
      'bulk (?:e-?)?mail': 'The message was rejected due to classification as bulk mail',
      virus: '552 Virus infected message rejected. IB705',
      malware: '550 This message contains malware (Eicar-Test-Signature)',
      phish:
        '550 5.7.26 This message fails to pass SPF checks for an SPF record with a hard fail policy (-all). To best protect our users from spam and phishing, the message has been blocked.',
      content: '500 5.6.1 Message content rejected',
      'message {message-word}': [
        '400 4.2.3 Message too big',
        '550 Message rejected as spam',
        '554 5.7.1 [HM08] Message rejected due to local policy.',
      ],
      header: '550 5.7.1 Messages missing a valid Message-ID header are not accepted.',
      '\\burls?\\b(?! *https?:)': 'Blacklisted URL in message',
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
      compliant:
        '550 5.7.1 This message is not RFC 5322 compliant. There are multiple Subject headers.',
      'rfc ?\\d{3,4}':
        '554 5.6.0 Mail message is malformed. Not accepted. For more information, go to Email sender guidelines and review RFC 5322 specifications.',
    },
    source: SOURCES.sisimai,
  },
  {
    id: 'policy',
    kind: 'blocked',
    phrases: {
      'polic(?:y|ies)': '550 5.7.1 Policy rejection on the target address',
      '(?:access|permission) denied':
        '554 5.7.1 <ada@y.example>: Recipient address rejected: Access denied',
      'denied by': '550 Denied by policy',
      'not (?:allowed|permitted|authorized|welcome)': '550 relay not permitted',
      prohibit: '550 relaying to <ada@x.example> prohibited by administrator',
      administrative: '550 Administrative prohibition',
      security:
        '554 Email rejected due to security policies - MCSpamSignature.sa.2.2 (in reply to end of DATA command)',
      violat:
        '550 host neko-nyaan-02.example.org[192.0.2.2] said: 550 5.7.0 Local Policy Violation (in reply to end of DATA command)',
      blocked: '550 Access from ip address 192.0.2.1 blocked.',
      forbidden:
        '551 Server access forbidden by your IP 192.0.2.2 websites spamcop.net, mailspike.net for removal',
      restricted: '553 mailbox ada@x.example is restricted',
      'insufficient permission': '550 5.0.0 <kijitora@example.or.jp>... Insufficient permission',
      'contact (?:your|the) (?:postmaster|administrator|admin)':
        '450 4.2.1 Peak SMTP relay limit exceeded for customer. This is a temporary error. For more information on SMTP relay limits, please contact your administrator or visit https://support.google.com/a/answer/6140680',
      'for assistance':
        '553 5.3.0 flpd567 DNSBL:RBL 521< 192.0.2.1 >_is_blocked.For assistance forward this error to abuse_rbl@abuse-att.net',
      // No reply was found for this pattern, the next and `firewall`; all three refuse the sender.
      unblock: null,
      '(?:white|allow) ?list': null,
      'protected by': 'Account is protected by',
      firewall: null,
      filter: '553-Message filtered. Please see the FAQs section on spam',
    },
    source: SOURCES.sisimai,
  },
  {
    id: 'loop',
    kind: 'server',
    phrases: {
      'too many hops': '554 5.4.6 Too many hops',
      '(?:hop|loop) count': '554 5.4.6 Hop count exceeded - possible mail loop',
      'mail loop': '554 5.4.6 Message exceeded 50 hops, this may indicate a mail loop.',
      'loop(?:s|ing)? (?:back|detected)': '554 5.4.6 mail for x.example loops back to myself',
      'message expired':
        '554 4.4.7 Message expired: unable to deliver in 840 minutes.<421 4.4.2 Connection timed out>',
      'retry timeout':
        '421 cmsmtp 192.0.2.1 blocked. Refer to Error Codes section for more information. AUP#CXCNCT: retry timeout exceeded',
      'queue too long':
        "Resources temporarily unavailable, please try again later [#4.1.9]. /I'm not going to try again; this message has been in the queue too long.",
    },
    source: SOURCES.sendmail,
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
      unimplemented: '502 unimplemented (#5.5.1)',
      'not implemented': '502 Command not implemented',
    },
    source: SOURCES.rfc5321,
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
      'service (?:unavailable|not available|refuse|currently)|out of service':
        '550 5.5.0 Service refuse. Veuillez essayer plus tard. LPN001_108',
      'temporar(?:y|ily)': '450 4.0.0 Temporary failure',
      'unknown mailer': '554 5.3.0 unknown mailer error 255',
      'overload|too much load': '421 x.example: Too much load; please try again later',
      'system (?:config|not|is)': '500 5.3.5 System config error',
      'could not (?:load|connect|contact)':
        '451 host example.com.inbound22.mxlogic.net[192.0.2.225] said: 451 Could not load DRD for domain (example.com) rcpt (kijitora@example.com) (in reply to RCPT TO command)',
      'transaction failed': '554 Transaction failed Reject due to policy restrictions.',
      'not enough': 'Mailbox space not enough (space limit is 10240KB)',
      'shutting down': '421 4.3.2 mx.x.example Shutting down',
      maintenance: '550 mailbox is undergoing maintenance',
    },
    source: SOURCES.rfc5321,
  },
]

/** Statements about the domain. */
const DOMAIN_RULES: readonly ReplyRule[] = [
  { id: 'protocol-code', kind: 'server', enhanced: /^5\.5\.[24]$/, source: SOURCES.rfc3463 },
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
    source: SOURCES.rfc3463,
  },
  {
    id: 'domain-text',
    kind: 'no_domain',
    severity: 5,
    phrases: {
      "(?:host|domain)(?: name)?[^.;]{0,30}(?:unknown|not found|does ?n[o']t exist|invalid)":
        '550 Host unknown',
      '{domain-unknown} {domain-of}?(?:host|domain)': [
        '550 5.4.4 Invalid domain',
        'unrouteable mail domain "x.example"',
      ],
      "couldn'?t find (?:any host|a mail exchanger)":
        "Sorry, I couldn't find a mail exchanger or IP address. (#5.4.4)",
      "(?:weren'?t|wasn'?t) able to find the recipient domain":
        "553 5.1.2 We weren't able to find the recipient domain. Please check for any spelling errors.",
      'no mail (?:exchanger|server|host)s? for':
        '5.4.4 (unable to route: no mail hosts for domain)',
      'all relevant mx records point to nonexistent':
        '550 all relevant MX records point to non-existent hosts',
      '(?:^|data: )(?:\\d{3} )?(?:[245]\\.\\d{1,3}\\.\\d{1,3} )?[a-z0-9-]{1,63}(?:\\.[a-z0-9-]{1,63}){0,7}\\.[a-z][a-z0-9-]{1,62} does not exist$':
        '553 host mx.example.net [192.0.2.222] SMTP error from remote mail server after end of data: 553 neko.example.com does not exist',
    },
    source: `${SOURCES.sendmail}; ${SOURCES.sisimai}`,
  },
  {
    id: 'takes-no-mail',
    kind: 'no_mail',
    severity: 5,
    phrases: {
      'null ?mx':
        '556 5.1.10 <ada@y.example>: Recipient address rejected: Domain y.example does not accept mail (nullMX)',
      'indicated no smtp service': '550 an MX or SRV record indicated no SMTP service',
      '(?:does|do) not accept (?:any )?(?:e-?)?mail(?:$|[.,; ]*(?:\\(|rfc))':
        '556 5.1.10 <ada@y.example>: Recipient address rejected: Domain y.example does not accept mail (nullMX)',
    },
    source: 'RFC 7505 4.1, 4.2',
  },
]

/** Less specific words, and codes. These rules come last. */
const CODE_RULES: readonly ReplyRule[] = [
  {
    id: 'user-reject',
    kind: 'filtered',
    phrases: {
      'user reject': '550 5.1.2 User reject',
      'permanent failure for one or more recipients':
        '550 permanent failure for one or more recipients (ada@x.example:550 5.1.1 User unknown)',
      'not accepting (?:e-?)?mail': '550 ada@y.example IS NOT ACCEPTING MAIL FROM THIS SENDER',
    },
    source: SOURCES.sisimai,
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
    source: SOURCES.rfc5321,
  },
  {
    id: 'recipient-rejected',
    kind: 'likely_missing',
    severity: 5,
    // A recipient refused by policy (5.7.x) proves nothing about the mailbox.
    notEnhanced: /^5\.7\./,
    phrases: {
      '{recipient-word}(?: address)? (?:was |is |has been )?{rejected-word}[.!]?(?: *\\(in reply to rcpt to command\\)| <?someone@[^\\s@]{1,100})?$':
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
      "recipient[^.;]{0,20} (?:cannot|can't|could not) be verified":
        '550-"The recipient cannot be verified. Please check all recipients of this 550 message to verify they are valid."',
    },
    source: `${SOURCES.postfix}; ${SOURCES.sisimai}`,
  },
  {
    id: 'bare-words',
    kind: 'likely_missing',
    severity: 5,
    phrases: {
      '^(?:\\d{3}[ -])?(?:[245]\\.\\d{1,3}\\.\\d{1,3} )?(?:sorry[,:]? )?(?:{bare-missing}[.!]?$|not {handled} (?:by|on|at|in) (?:this|our|the) (?:mail )?{mail-system}\\b)':
        ['550 Not found.', '550 Does not exist', '550 5.1.1 does not exist'],
    },
    source: "a recipient refused without explanation by one of the domain's own mail hosts",
  },
  {
    id: 'code-missing',
    kind: 'missing',
    severity: 5,
    enhanced: /^5\.1\.(?:1|10|6)$/,
    source: SOURCES.rfc3463,
  },
  {
    id: 'code-bad-syntax',
    kind: 'likely_missing',
    severity: 5,
    enhanced: /^5\.1\.3$/,
    source: SOURCES.rfc3463,
  },
  {
    id: 'code-disabled',
    kind: 'disabled',
    severity: 5,
    enhanced: /^5\.2\.1$|^5\.7\.13$/,
    source: SOURCES.rfc3463,
  },
  {
    id: 'code-rate',
    kind: 'rate',
    enhanced: /^4\.5\.3$|^[45]\.7\.(?:28|30|650|651)$/,
    source: SOURCES.rfc3463,
  },
  { id: 'code-policy', kind: 'blocked', enhanced: /^[45]\.7\.\d+$/, source: SOURCES.rfc3463 },
  {
    id: 'code-deferred',
    kind: 'greylist',
    severity: 4,
    enhanced: /^4\.2\.0$/,
    source: 'postgrey and Postfix policy services',
  },
  { id: 'code-system', kind: 'server', enhanced: /^[45]\.[345]\.\d+$/, source: SOURCES.rfc3463 },
]

/** All rules; the first that matches decides. */
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
