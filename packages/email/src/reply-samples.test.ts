import { expect, test } from 'vitest'
import type { Reason } from '@plumbline/contract/reasons'
import { classifyReply } from './classify.ts'
import { PROVIDERS } from './providers.ts'
import { REPLY_RULES } from './reply-rules.ts'

/** A reply to RCPT, and how it must be classified. */
type ReplySample = readonly [
  provider: string,
  code: number,
  text: string,
  reason: Reason<'email'>,
  /** The rule that decides. */
  rule: string,
]

const GOOGLE = 'https://support.google.com/a/answer/3726730'
const MICROSOFT =
  'https://learn.microsoft.com/exchange/mail-flow-best-practices/non-delivery-reports-in-exchange-online/non-delivery-reports-in-exchange-online'
const EXCHANGE =
  'https://learn.microsoft.com/exchange/mail-flow/non-delivery-reports-and-bounce-messages/non-delivery-reports-and-bounce-messages'
const OUTLOOK = 'https://sendersupport.olc.protection.outlook.com/pm/troubleshooting'
const YAHOO = 'https://senders.yahooinc.com/smtp-error-codes/'
const APPLE = 'https://support.apple.com/102322'
const MIMECAST = 'https://community.mimecast.com/docs/DOC-1369'
const MANUAL = 'https://smtpfieldmanual.com'
const POSTFIX = 'https://www.postfix.org/postconf.5.html'
const POSTFIX_SMTPD =
  'https://github.com/vdukhovni/postfix/blob/master/postfix/src/smtpd/smtpd_check.c'
const EXIM =
  'https://www.exim.org/exim-html-current/doc/html/spec_html/ch-access_control_lists.html'
const SENDMAIL = 'https://github.com/freebsd/freebsd-src/tree/main/contrib/sendmail'
const QMAIL = 'https://github.com/notqmail/notqmail/blob/main/qmail-smtpd.c'
const RFC_5321 = 'https://www.rfc-editor.org/rfc/rfc5321#section-4.2.2'
const IANA = 'https://www.iana.org/assignments/smtp-enhanced-status-codes'
const SISIMAI = 'https://github.com/sisimai/set-of-emails'

/** Real replies for every rule, by the page that documents or shows them. */
const REPLY_SAMPLES: Readonly<Record<string, readonly ReplySample[]>> = {
  [GOOGLE]: [
    [
      'google',
      450,
      '4.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered.',
      'accepted_exists',
      'google-rate-of-user',
    ],
    [
      'google',
      550,
      "5.1.1 The email account that you tried to reach does not exist. Please try double-checking the recipient's email address for typos or unnecessary spaces.",
      'mailbox_not_found',
      'google-missing',
    ],
    [
      'google',
      550,
      '5.2.1 The email account that you tried to reach is disabled.',
      'mailbox_disabled',
      'google-disabled',
    ],
    [
      'google',
      552,
      "5.2.2 The recipient's inbox is out of storage space and inactive.",
      'mailbox_full',
      'google-full',
    ],
    [
      'google',
      553,
      "5.1.2 We weren't able to find the recipient domain. Please check for any spelling errors.",
      'no_domain',
      'google-domain',
    ],
    [
      'google',
      553,
      '5.1.2 The recipient address <.@gmail.com> is not a valid RFC 5321 address.',
      'mailbox_not_found',
      'google-syntax',
    ],
    [
      'google',
      550,
      '5.7.25 The IP address sending this message does not have a PTR record setup.',
      'blocked',
      'google-policy',
    ],
    [
      'other',
      550,
      '5.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered.',
      'accepted_exists',
      'rate-of-user',
    ],
    [
      'other',
      554,
      '5.4.6 Message exceeded 50 hops, this may indicate a mail loop.',
      'server_error',
      'loop',
    ],
    ['other', 501, '5.5.4 HELO/EHLO argument is invalid.', 'blocked', 'helo'],
    [
      'other',
      550,
      '5.7.1 Messages missing a valid Message-ID header are not accepted.',
      'blocked',
      'content-proper',
    ],
  ],
  [MICROSOFT]: [
    [
      'microsoft365',
      550,
      '5.4.1 Recipient address rejected: Access denied. AS(201806281)',
      'mailbox_not_found',
      'microsoft-edge-block',
    ],
    [
      'microsoft365',
      550,
      '5.4.1 All recipient addresses rejected : Access denied',
      'blocked',
      'microsoft-all-rejected',
    ],
    [
      'microsoft365',
      550,
      '5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup',
      'mailbox_not_found',
      'microsoft-not-found',
    ],
    [
      'microsoft365',
      550,
      '5.7.124 Sender not in allowed-senders list',
      'accepted_exists',
      'microsoft-restricted-code',
    ],
    [
      'microsoft365',
      550,
      '5.7.1 TRANSPORT.RULES.RejectMessage; the message was rejected by organization policy',
      'unclassified_reply',
      'microsoft-resolver',
    ],
    [
      'microsoft365',
      550,
      '5.7.606 Access denied, banned sending IP [192.0.2.1].',
      'blocked',
      'microsoft-policy',
    ],
    [
      'microsoft365',
      451,
      '4.7.0 Temporary server error. Please try again later. PRX4',
      'server_error',
      'microsoft-fault',
    ],
  ],
  [EXCHANGE]: [
    [
      'other',
      550,
      '5.7.1 RESOLVER.RST.NotAuthorized; not authorized',
      'accepted_exists',
      'microsoft-restricted',
    ],
    ['other', 550, '5.2.1 Mailbox cannot be accessed', 'mailbox_disabled', 'code-disabled'],
  ],
  [OUTLOOK]: [
    [
      'outlook_consumer',
      550,
      '5.7.1 Unfortunately, messages from [192.0.2.1] were not sent. Please contact your Internet service provider since part of their network is on our block list (S3140).',
      'blocked',
      'outlook-policy',
    ],
  ],
  'https://github.com/AfterShip/email-verifier/issues/72': [
    [
      'outlook_consumer',
      451,
      '4.5.3 Recipients belong to multiple regions ATTR38 [DB5PEPF00014B9A.eurprd02.prod.outlook.com]',
      'server_error',
      'microsoft-regions',
    ],
  ],
  [YAHOO]: [
    [
      'yahoo',
      421,
      '4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints',
      'blocked',
      'yahoo-policy',
    ],
  ],
  [APPLE]: [
    ['other', 554, '5.7.1 [HM08] Message rejected due to local policy.', 'blocked', 'content'],
  ],
  [`${MANUAL}/code/421`]: [
    [
      'other',
      421,
      '4.7.0 Too many connections, closing transmission channel',
      'rate_limited',
      'too-fast',
    ],
  ],
  [`${MANUAL}/code/450`]: [
    ['yahoo', 450, 'User is receiving mail too quickly', 'accepted_exists', 'yahoo-rate-of-user'],
    [
      'yandex',
      450,
      '4.2.1 The recipient has exceeded message rate limit. Try again later.',
      'accepted_exists',
      'rate-of-user',
    ],
    ['other', 450, '4.1.8 Sender address rejected: Domain not found', 'blocked', 'sender-code'],
    [
      'comcast',
      450,
      '4.2.0 <ada@comcast.net> - Recipient temporarily unavailable',
      'server_error',
      'server-fault',
    ],
  ],
  [`${MANUAL}/code/451`]: [
    [
      'mimecast',
      451,
      'Internal resource temporarily unavailable - https://community.mimecast.com/docs/DOC-1369#451',
      'greylisted',
      'mimecast-greylist',
    ],
    [
      'barracuda',
      451,
      '4.7.1 <ada@y.example>: Recipient address rejected: Greylisted for 5 minutes',
      'greylisted',
      'greylist',
    ],
  ],
  [`${MANUAL}/code/452`]: [
    [
      'microsoft365',
      452,
      '4.3.1 Insufficient system resources (TSTE)',
      'server_error',
      'storage-of-server',
    ],
  ],
  [`${MANUAL}/code/550`]: [
    [
      'outlook_consumer',
      550,
      '5.5.0 Requested action not taken: mailbox unavailable.',
      'mailbox_not_found',
      'outlook-missing',
    ],
    [
      'apple',
      550,
      '5.1.1 <ada@icloud.com>: user does not exist',
      'mailbox_not_found',
      'apple-missing',
    ],
    ['comcast', 550, '5.1.1 Not our Customer', 'mailbox_not_found', 'comcast-missing'],
    [
      'mailru',
      550,
      'Message was not accepted -- invalid mailbox. Local mailbox ada@mail.ru is unavailable: account is disabled',
      'mailbox_disabled',
      'disabled-text',
    ],
    ['yandex', 550, '5.7.1 No such user!', 'mailbox_not_found', 'missing-unknown'],
    ['yandex', 550, '5.7.1 Policy rejection on the target address', 'blocked', 'policy'],
    ['zoho', 550, '5.1.1 <ada@zoho.com> User unknown', 'mailbox_not_found', 'missing-text'],
    [
      'mimecast',
      550,
      'Envelope blocked - User Entry - https://community.mimecast.com/docs/DOC-1369#550',
      'blocked',
      'mimecast-blocked',
    ],
    [
      'proofpoint',
      550,
      '5.7.1 <ada@y.example>: Recipient address rejected: User email address is marked as invalid.',
      'mailbox_not_found',
      'proofpoint-marked-invalid',
    ],
    ['proofpoint', 550, '5.1.1 User Unknown', 'mailbox_not_found', 'missing-text'],
    ['barracuda', 550, 'No such user (ada@y.example)', 'mailbox_not_found', 'missing-unknown'],
    [
      'barracuda',
      550,
      'cuda_nsu 5.4.1 [ada@y.example]: Recipient address rejected: Access denied [y.example]',
      'mailbox_not_found',
      'microsoft-edge-block',
    ],
    [
      'symantec',
      550,
      'Invalid recipient <ada@y.example> (#5.1.1)',
      'mailbox_not_found',
      'missing-unknown',
    ],
    [
      'other',
      550,
      '5.7.1 Email rejected per DMARC policy for zoho.com',
      'blocked',
      'authentication',
    ],
    [
      'other',
      550,
      '5.2.1 <ADA@PRODIGY.NET>... Addressee unknown, relay=[192.0.2.1]',
      'mailbox_not_found',
      'missing-text',
    ],
  ],
  [`${MANUAL}/code/552`]: [
    [
      'orange',
      552,
      '5.1.1 Boite du destinataire pleine. Recipient overquota. OFR_417 [417]',
      'mailbox_full',
      'orange-full',
    ],
    ['other', 552, '5.2.2 user quota exceeded (UserSearch)', 'mailbox_full', 'full-text'],
    [
      'gmx',
      552,
      'Requested mail action aborted: exceeded storage allocation Quota exceeded.',
      'mailbox_full',
      'full-text',
    ],
    [
      'yahoo',
      552,
      '1 Requested mail action aborted, mailbox not found',
      'mailbox_not_found',
      'missing-text',
    ],
  ],
  [`${MANUAL}/code/554`]: [
    [
      'microsoft365',
      554,
      '5.2.122 The recipient has exceeded their limit for the number of messages they can receive per hour.',
      'accepted_exists',
      'microsoft-hourly-limit',
    ],
    [
      'yahoo',
      554,
      "delivery error: dd This user doesn't have a yahoo.com account (ada@yahoo.com) [-9]",
      'mailbox_not_found',
      'yahoo-missing',
    ],
    [
      'yahoo',
      554,
      'delivery error: dd Sorry, your message to ada@yahoo.com cannot be delivered. This mailbox is disabled (554.30).',
      'mailbox_disabled',
      'yahoo-disabled',
    ],
    [
      'trend_micro',
      554,
      '5.7.1 <ada@y.example>: Recipient address rejected: Invalid-Recipient.',
      'mailbox_not_found',
      'trend-invalid-recipient',
    ],
    [
      'trend_micro',
      554,
      '5.7.1 <ada@y.example>: Recipient address rejected: BLOCK-SEND-ER.',
      'blocked',
      'trend-ers',
    ],
    [
      'zoho',
      554,
      '5.7.1 Email cannot be delivered. Reason: Email flagged as Spam.',
      'blocked',
      'zoho-policy',
    ],
    [
      'other',
      554,
      '5.7.1 <ada@y.example>: Recipient address rejected: Not in recipient list',
      'mailbox_not_found',
      'missing-nobody',
    ],
    [
      'other',
      554,
      '5.7.1 Spam message rejected; If this is not spam contact abuse',
      'blocked',
      'content',
    ],
  ],
  [MIMECAST]: [
    ['mimecast', 451, 'Recipient temporarily unavailable', 'rate_limited', 'mimecast-throttled'],
    ['mimecast', 550, 'Account inbounds disabled', 'mailbox_disabled', 'mimecast-inbounds'],
  ],
  'https://www.postfix.org/ADDRESS_VERIFICATION_README.html': [
    [
      'proofpoint',
      450,
      '4.1.1 <ada@y.example>: Recipient address rejected: unverified address: Address verification in progress',
      'greylisted',
      'proofpoint-verifying',
    ],
  ],
  'https://www.postfix.org/SMTPUTF8_README.html': [
    [
      'other',
      550,
      '5.6.7 SMTPUTF8 is required, but was not offered by host',
      'smtputf8_unsupported',
      'smtputf8',
    ],
  ],
  [POSTFIX]: [
    [
      'other',
      554,
      '5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org',
      'blocked',
      'blocklist-name',
    ],
  ],
  [POSTFIX_SMTPD]: [
    [
      'other',
      550,
      '5.1.1 <ada@y.example>: Recipient address rejected: User unknown in local recipient table',
      'mailbox_not_found',
      'missing-text',
    ],
    [
      'other',
      550,
      '5.1.1 <ada@y.example>: Recipient address rejected: y.example',
      'mailbox_not_found',
      'missing-code-and-text',
    ],
    ['other', 554, '5.7.1 <ada@y.example>: Relay access denied', 'relay_denied', 'relay'],
    [
      'other',
      504,
      '5.5.2 <x>: Helo command rejected: need fully-qualified hostname',
      'blocked',
      'helo',
    ],
    [
      'other',
      554,
      '5.7.1 <verifier.example[192.0.2.1]>: Client host rejected: Access denied',
      'blocked',
      'reverse-dns',
    ],
    [
      'other',
      556,
      '5.1.10 <ada@y.example>: Recipient address rejected: Domain y.example does not accept mail (nullMX)',
      'null_mx',
      'takes-no-mail',
    ],
    [
      'other',
      554,
      '5.7.1 <ada@y.example>: Recipient address rejected: Access denied',
      'blocked',
      'policy',
    ],
  ],
  [EXIM]: [
    ['other', 550, 'Sender verify failed', 'blocked', 'sender-address'],
    ['other', 550, 'relay not permitted', 'relay_denied', 'relay'],
    ['other', 550, 'Unrouteable address', 'mailbox_not_found', 'missing-unknown'],
  ],
  [SENDMAIL]: [
    ['other', 550, '5.1.1 <ada@y.example>... User unknown', 'mailbox_not_found', 'missing-text'],
    ['other', 550, '5.1.2 <ada@y.example>... Host unknown', 'no_domain', 'domain-code'],
    ['other', 550, 'Host unknown', 'no_domain', 'domain-text'],
    ['other', 554, '5.4.6 Too many hops', 'server_error', 'loop'],
    [
      'other',
      553,
      '5.1.8 <verify@s.example>... Domain of sender address verify@s.example does not exist',
      'blocked',
      'sender-code',
    ],
  ],
  [QMAIL]: [
    [
      'other',
      553,
      "sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)",
      'relay_denied',
      'relay',
    ],
    [
      'other',
      553,
      'sorry, your envelope sender is in my badmailfrom list (#5.7.1)',
      'blocked',
      'sender-address',
    ],
  ],
  [RFC_5321]: [
    [
      'gmx',
      550,
      'Requested action not taken: mailbox unavailable',
      'mailbox_not_found',
      'mailbox-unavailable',
    ],
    [
      'other',
      552,
      'Requested mail action aborted: exceeded storage allocation',
      'mailbox_full',
      'full-storage',
    ],
    ['other', 503, '5.5.1 Bad sequence of commands', 'server_error', 'protocol'],
    [
      'other',
      452,
      'Requested action not taken: insufficient system storage',
      'server_error',
      'storage-of-server',
    ],
  ],
  'https://www.rfc-editor.org/rfc/rfc3207#section-4': [
    ['other', 530, 'Must issue a STARTTLS command first', 'blocked', 'tls-needed'],
  ],
  'https://www.postfix.org/relocated.5.html': [
    [
      'other',
      550,
      '5.1.6 <ada@y.example>: Recipient address rejected: User has moved to ada@z.example',
      'mailbox_not_found',
      'moved',
    ],
  ],
  // Only a code with its name in the registry: too short for any rule about the text.
  [IANA]: [
    ['other', 450, '4.2.0 Other or undefined mailbox status', 'greylisted', 'code-deferred'],
    ['other', 550, '5.1.6 Destination mailbox', 'mailbox_not_found', 'code-missing'],
    ['other', 501, '5.1.3 Mailbox address syntax', 'mailbox_not_found', 'code-bad-syntax'],
    ['other', 452, '4.5.3 Recipients', 'rate_limited', 'code-rate'],
    ['other', 550, '5.7.0 Other or undefined status', 'blocked', 'code-policy'],
    ['other', 550, '5.3.0 Other or undefined mail status', 'server_error', 'code-system'],
    ['other', 501, '5.5.4 Invalid arguments', 'server_error', 'protocol-code'],
    ['other', 552, '5.2.2 Storage', 'mailbox_full', 'full-code'],
  ],
  'https://www.cisco.com/c/en/us/support/docs/security/email-security-appliance/118378-technote-esa-00.html':
    [
      ['cisco', 550, '#5.1.0 Address rejected.', 'mailbox_not_found', 'recipient-rejected'],
      [
        'cisco',
        554,
        "Your access to this mail system has been rejected due to the sending MTA's poor reputation.",
        'blocked',
        'reputation',
      ],
    ],
  'https://docs.aws.amazon.com/ses/latest/dg/receiving-email-action-bounce.html': [
    ['amazon', 550, '5.1.1 Mailbox does not exist', 'mailbox_not_found', 'missing-text'],
    ['amazon', 500, '5.6.1 Message content rejected', 'blocked', 'content'],
  ],
  'https://postmaster.gmx.net/en/error-messages': [
    ['gmx', 554, 'Transaction failed Reject due to policy restrictions.', 'blocked', 'policy'],
  ],
  'https://postmaster.facebook.com/response_codes': [
    [
      'facebook',
      550,
      '5.1.1 RCP-P1 http://postmaster.facebook.com/response_codes?ip=192.0.2.54#rcp exist',
      'mailbox_not_found',
      'facebook-exists',
    ],
    [
      'facebook',
      550,
      '5.1.1 RCP-P2 http://postmaster.facebook.com/response_codes?ip=192.0.2.135#rcp Refused due to recipient preferences',
      'unclassified_reply',
      'facebook-preference',
    ],
    [
      'facebook',
      554,
      '5.7.1 POL-P4 http://postmaster.facebook.com/response_codes?ip=192.0.2.1#pol message blocked',
      'blocked',
      'facebook-policy',
    ],
  ],
  'https://postmaster.orange.fr': [
    [
      'orange',
      550,
      '5.1.1 Adresse d au moins un destinataire invalide. Invalid recipient. OFR204_416 [416]',
      'mailbox_not_found',
      'orange-missing',
    ],
    ['orange', 550, '5.2.0 Mail rejete. Mail rejected. ofr_506 [506]', 'blocked', 'orange-refused'],
  ],
  'https://www.godaddy.com/help/email-bounceback-messages-3568': [
    [
      'godaddy',
      550,
      '5.1.1 Recipient not found IB603 <http://x.co/irbounce>',
      'mailbox_not_found',
      'godaddy-missing',
    ],
    [
      'godaddy',
      550,
      '5.1.1 <ada@y.example> - 192.0.2.1 has sent to too many recipients this hour. IB607',
      'blocked',
      'godaddy-blocked',
    ],
  ],
  'https://service.mail.qq.com': [
    [
      'tencent',
      550,
      'Mailbox not found. http://service.mail.qq.com/cgi-bin/help',
      'mailbox_not_found',
      'tencent-missing',
    ],
    ['tencent', 550, 'Connection frequency limited', 'rate_limited', 'too-fast'],
  ],
  'https://postmaster.comcast.net': [
    [
      'comcast',
      554,
      'resimta-ch2 192.0.2.1 Comcast BL000001 Blocked',
      'blocked',
      'comcast-blocked',
    ],
  ],
  'https://help.mail.ru/mail/help/return_errors': [
    ['mailru', 550, 'Access from ip address 192.0.2.1 blocked.', 'blocked', 'our-address'],
  ],
  'http://postmaster.aol.com/trouble/mailer.html': [
    [
      'other',
      550,
      'ada@y.example IS NOT ACCEPTING MAIL FROM THIS SENDER',
      'unclassified_reply',
      'only-members',
    ],
  ],
  'https://www.exim.org/exim-html-current/doc/html/spec_html/ch-the_dnslookup_router.html': [
    ['other', 550, 'host lookup did not complete', 'server_error', 'name-server'],
  ],
  'https://github.com/cyrusimap/cyrus-imapd/blob/master/imap/lmtpd.c': [
    [
      'other',
      550,
      'Mailbox unknown.  Either there is no mailbox associated with this name or you do not have authorization to see it. 5.1.1 User unknown',
      'mailbox_not_found',
      'cyrus-missing',
    ],
  ],
  'https://github.com/2called-chaos/bouncefetch': [
    [
      'other',
      552,
      'Benutzer hat das Speichervolumen ueberschritten',
      'mailbox_full',
      'foreign-full',
    ],
    [
      'other',
      550,
      '5.1.1 Die eingegebene E-Mail-Adresse konnte nicht gefunden werden.',
      'mailbox_not_found',
      'foreign-missing',
    ],
  ],
  [SISIMAI]: [
    ['symantec', 542, 'ada@y.example Rejected', 'mailbox_not_found', 'symantec-rejected'],
    [
      'laposte',
      550,
      '5.5.0 Adresse destinataire invalide. Invalid recipient. LPN007_416',
      'mailbox_not_found',
      'laposte-invalid',
    ],
    [
      'laposte',
      550,
      '5.5.0 Le compte du destinataire est bloque. The recipient account is blocked. LPN007_426',
      'mailbox_disabled',
      'laposte-account-blocked',
    ],
    [
      'laposte',
      550,
      '5.5.0 Service refuse. Veuillez essayer plus tard. LPN001_108',
      'blocked',
      'laposte-refused',
    ],
    ['amazon', 550, '5.7.1 IP address blacklisted by recipient', 'blocked', 'blocklist-word'],
    ['other', 550, '5.1.2 User reject', 'unclassified_reply', 'user-reject'],
    ['yahoo_japan', 501, '5.1.8 Sender address rejected', 'blocked', 'sender-code'],
  ],
}

const SAMPLES = Object.values(REPLY_SAMPLES).flat()

/** Rules for which no real reply was found, and why they are kept. */
const JUSTIFIED: Readonly<Record<string, string>> = {
  'your-own': 'in a reply to us, "your server" means ours',
  'directory-fault': 'operators choose these texts; variants in reply-variants.test.ts',
  'locked-for-now': 'hosting providers choose these texts; variants in reply-variants.test.ts',
  'missing-served': 'texts of small mail servers; variants in reply-variants.test.ts',
  'missing-name': 'texts of small mail servers; variants in reply-variants.test.ts',
  'not-now': 'operators choose these texts; variants in reply-variants.test.ts',
  'routing-code': 'RFC 3463 defines the code; variants in reply-variants.test.ts',
  'bare-words': 'texts of small mail servers; variants in reply-variants.test.ts',
  'on-hold': 'hosting providers choose these texts; variants in reply-variants.test.ts',
  'foreign-sender': 'operators choose these texts; examples in foreign-rules.ts',
}

test.each(SAMPLES)('%s %d %s is %s', (provider, code, text, reason, rule) => {
  const classified = classifyReply({ phase: 'rcpt', provider, code, text })
  expect([classified.reason, classified.rule]).toEqual([reason, rule])
})

test('every rule has a real sample with its source, or says why it has none', () => {
  const sampled = new Set(SAMPLES.map((sample) => sample[4]))
  const bare = REPLY_RULES.map((rule) => rule.id).filter((id) => !sampled.has(id))
  expect(bare.toSorted()).toEqual(Object.keys(JUSTIFIED).toSorted())
  expect(Object.keys(REPLY_SAMPLES).filter((source) => !URL.canParse(source))).toEqual([])
  expect(REPLY_RULES.filter((rule) => rule.source.length < 5)).toEqual([])
  expect(new Set(REPLY_RULES.map((rule) => rule.id)).size).toBe(REPLY_RULES.length)
})

test('every provider has a real sample', () => {
  const sampled = new Set(SAMPLES.map((sample) => sample[0]))
  expect(PROVIDERS.map(({ id }) => id).filter((id) => !sampled.has(id))).toEqual([])
})

test('no 4xx is ever undeliverable, whatever its words', () => {
  for (const [provider, , text] of SAMPLES) {
    for (const code of [421, 450, 451, 452]) {
      const classified = classifyReply({
        phase: 'rcpt',
        provider,
        code,
        enhanced: null,
        text: text.replace(/\b5\.(\d+\.\d+)/, '4.$1'),
      })
      expect([text, classified.status]).not.toEqual([text, 'undeliverable'])
    }
  }
})

test('no reply before RCPT is ever about the mailbox', () => {
  for (const [provider, code, text] of SAMPLES) {
    for (const phase of ['greeting', 'ehlo', 'starttls', 'mail'] as const) {
      const classified = classifyReply({ phase, provider, code, text })
      expect([text, classified.status, classified.mailbox]).toEqual([text, 'unknown', 'unknown'])
    }
  }
})
