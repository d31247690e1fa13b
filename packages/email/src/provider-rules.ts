import type { ReplyRule } from './reply-rule.ts'
import { SOURCES } from './sources.ts'

/** Rules for one provider, or for texts that one provider uses; they precede the general rules. */
export const PROVIDER_RULES: readonly ReplyRule[] = [
  {
    id: 'google-rate-of-user',
    kind: 'exists',
    provider: 'google',
    phrases: {
      'is receiving mail (?:at a rate|too quickly)':
        '450 4.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered.',
    },
    source: SOURCES.google,
  },
  {
    id: 'google-missing',
    kind: 'missing',
    provider: 'google',
    phrases: {
      'account that you tried to reach does not exist':
        "550 5.1.1 The email account that you tried to reach does not exist. Please try double-checking the recipient's email address for typos or unnecessary spaces.",
    },
    source: SOURCES.google,
  },
  {
    id: 'google-disabled',
    kind: 'disabled',
    provider: 'google',
    phrases: {
      'account that you tried to reach is (?:disabled|inactive)':
        '550 5.2.1 The email account that you tried to reach is disabled.',
    },
    source: SOURCES.google,
  },
  {
    id: 'google-full',
    kind: 'full',
    provider: 'google',
    phrases: {
      'is over quota':
        '452 4.2.2 The email account that you tried to reach is over quota. Please direct the recipient to Clear Google Drive space & increase storage.',
      'out of storage space':
        "552 5.2.2 The recipient's inbox is out of storage space and inactive.",
      'inbox is out of storage':
        "552 5.2.2 The recipient's inbox is out of storage space and inactive.",
    },
    source: SOURCES.google,
  },
  {
    id: 'google-domain',
    kind: 'no_domain',
    provider: 'google',
    severity: 5,
    phrases: {
      'able to find the recipient domain':
        "553 5.1.2 We weren't able to find the recipient domain. Please check for any spelling errors.",
    },
    source: SOURCES.google,
  },
  {
    id: 'google-syntax',
    kind: 'likely_missing',
    provider: 'google',
    severity: 5,
    // If it is about the sender's address, the same text has another code, or none.
    phrases: {
      'recipient address .{0,200}not a valid rfc ?-?\\d{4} address':
        '553 5.1.2 The recipient address <.@gmail.com> is not a valid RFC 5321 address.',
    },
    source: SOURCES.google,
  },
  {
    id: 'google-policy',
    kind: 'blocked',
    provider: 'google',
    enhanced: /^[45]\.7\.\d+$/,
    source: SOURCES.google,
  },
  {
    id: 'microsoft-edge-block',
    kind: 'likely_missing',
    severity: 5,
    enhanced: /^5\.4\.1$/,
    phrases: {
      'recipient address rejected: access denied':
        '550 5.4.1 Recipient address rejected: Access denied. AS(201806281)',
    },
    source: `${SOURCES.microsoft}; AS(201806281), directory-based edge blocking`,
  },
  {
    id: 'microsoft-all-rejected',
    kind: 'blocked',
    provider: 'microsoft365',
    phrases: {
      'all recipient addresses rejected':
        '550 5.4.1 All recipient addresses rejected : Access denied',
      'relay access denied': '554 5.7.1 <ada@y.example>: Relay access denied',
    },
    source: SOURCES.microsoft,
  },
  {
    id: 'microsoft-not-found',
    kind: 'missing',
    severity: 5,
    phrases: {
      'resolver\\.adr\\.(?:recipient|exrecip)?notfound':
        '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup',
      recipientnotfound:
        '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup',
      recipnotfound: '550 5.1.1 RESOLVER.ADR.ExRecipNotFound; not found',
    },
    source: SOURCES.microsoft,
  },
  {
    id: 'microsoft-restricted',
    kind: 'exists',
    phrases: {
      'resolver\\.rst\\.{exchange-restriction}': [
        '550 5.7.1 RESOLVER.RST.NotAuthorized; not authorized',
        '550 #550 5.7.1 RESOLVER.RST.AuthRequired; authentication required ##rfc822;neko-nyaan@cat.example.jp',
        '550 5.7.129 RESOLVER.RST.RestrictedToRecipientsPermission',
      ],
      'not authorized to send to (?:the )?recipient':
        "550 5.7.129 RESOLVER.RST.RestrictedToRecipientsPermission; not authorized to send to the recipient because the sender isn't on the recipient's list of senders to accept mail from",
    },
    source: SOURCES.microsoft,
  },
  {
    id: 'microsoft-restricted-code',
    kind: 'exists',
    provider: 'microsoft365',
    enhanced: /^5\.7\.1(?:2[349]|33|34|36)$/,
    source: SOURCES.microsoft,
  },
  {
    id: 'microsoft-hourly-limit',
    kind: 'exists',
    enhanced: /^[45]\.2\.12[12]$/,
    source: SOURCES.microsoft,
  },
  {
    id: 'microsoft-resolver',
    kind: 'unclassified',
    phrases: {
      'resolver\\.(?:rst|loop)': [
        '550 5.7.1 RESOLVER.RST.NotAuthorized; not authorized',
        '#550 5.2.3 RESOLVER.RST.RecipSizeLimit; message too large for this recipient ##',
      ],
      'transport\\.rules':
        '550 5.7.1 TRANSPORT.RULES.RejectMessage; the message was rejected by organization policy',
    },
    source: SOURCES.microsoft,
  },
  {
    id: 'microsoft-regions',
    kind: 'server',
    phrases: {
      'recipients belong to multiple regions':
        '451 4.5.3 Recipients belong to multiple regions ATTR38 [DB5PEPF00014B9A.eurprd02.prod.outlook.com]',
      attr38:
        '451 4.5.3 Recipients belong to multiple regions ATTR38 [DB5PEPF00014B9A.eurprd02.prod.outlook.com]',
    },
    source: SOURCES.aftership,
  },
  {
    id: 'microsoft-fault',
    kind: 'server',
    severity: 4,
    phrases: {
      'temporary server error': '451 4.7.0 Temporary server error. Please try again later. PRX4',
    },
    source: SOURCES.microsoft,
  },
  {
    id: 'microsoft-policy',
    kind: 'blocked',
    provider: 'microsoft365',
    enhanced: /^[45]\.7\.\d+$/,
    source: SOURCES.microsoft,
  },
  {
    id: 'outlook-policy',
    kind: 'blocked',
    provider: 'outlook_consumer',
    enhanced: /^[45]\.7\.\d+$/,
    source: SOURCES.microsoft,
  },
  {
    id: 'outlook-missing',
    kind: 'likely_missing',
    provider: 'outlook_consumer',
    severity: 5,
    phrases: {
      'requested action not taken: mailbox unavailable':
        '550 5.5.0 Requested action not taken: mailbox unavailable.',
    },
    source: `${SOURCES.microsoft}; S2017062302`,
  },
  {
    id: 'yahoo-rate-of-user',
    kind: 'exists',
    provider: 'yahoo',
    phrases: {
      'receiving mail too quickly': '450 User is receiving mail too quickly',
    },
    source: SOURCES.yahoo,
  },
  {
    id: 'yahoo-missing',
    kind: 'missing',
    severity: 5,
    phrases: {
      "this user doesn'?t have an? \\S{1,100} account":
        "554 delivery error: dd This user doesn't have a yahoo.com account (ada@yahoo.com) [-9]",
    },
    source: SOURCES.yahoo,
  },
  {
    id: 'yahoo-disabled',
    kind: 'disabled',
    provider: 'yahoo',
    severity: 5,
    phrases: {
      'mailbox is disabled':
        '554 delivery error: dd Sorry, your message to ada@yahoo.com cannot be delivered. This mailbox is disabled (554.30).',
      'no longer valid': '554 delivery error: dd ada@yahoo.com is no longer valid.',
    },
    source: SOURCES.yahoo,
  },
  {
    id: 'yahoo-policy',
    kind: 'blocked',
    phrases: {
      '\\[(?:bl\\d\\d|ts\\d\\d|tss\\d\\d|ph\\d\\d|gl\\d\\d|cs\\d\\d|ru\\d\\d)\\]':
        '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints',
    },
    source: SOURCES.yahoo,
  },
  {
    id: 'apple-missing',
    kind: 'missing',
    provider: 'apple',
    severity: 5,
    enhanced: /^5\.1\.[16]$/,
    phrases: {
      'does not exist': '550 5.1.1 <ada@icloud.com>: user does not exist',
      'unknown or illegal alias': '550 5.1.1 unknown or illegal alias: ada@x.example',
      'inactive email address':
        '550 host mx1.mail.icloud.com[17.172.34.9] said: 550 5.1.1 <pseudo-local-part-of-icloud@icloud.com>: inactive email address (in reply to RCPT TO command)',
      'no longer on server': '550 5.1.6 recipient no longer on server: ada@mac.com',
    },
    source: SOURCES.apple,
  },
  {
    id: 'mimecast-greylist',
    kind: 'greylist',
    provider: 'mimecast',
    severity: 4,
    phrases: {
      'internal resources? (?:is |are )?temporarily unavailable':
        '451 Internal resource temporarily unavailable - https://community.mimecast.com/docs/DOC-1369#451',
    },
    source: SOURCES.mimecast,
  },
  {
    id: 'mimecast-throttled',
    kind: 'rate',
    provider: 'mimecast',
    severity: 4,
    phrases: {
      'recipient temporarily unavailable': '451 Recipient temporarily unavailable',
      'ip temporarily blacklisted': '451 IP temporarily blacklisted',
    },
    source: SOURCES.mimecast,
  },
  {
    id: 'mimecast-inbounds',
    kind: 'disabled',
    provider: 'mimecast',
    severity: 5,
    phrases: {
      'account inbounds disabled': '550 Account inbounds disabled',
    },
    source: SOURCES.mimecast,
  },
  {
    id: 'mimecast-blocked',
    kind: 'blocked',
    provider: 'mimecast',
    phrases: {
      'envelope blocked':
        '550 Envelope blocked - User Entry - https://community.mimecast.com/docs/DOC-1369#550',
      'administrative prohibition': '550 Administrative prohibition',
      'local ct ip': '550 Local CT IP Reputation - (reject)',
      'security polic':
        '554 Email rejected due to security policies - MCSpamSignature.sa.2.2 (in reply to end of DATA command)',
      'sender address blocked': '421 Sender address blocked',
      'csi\\.mimecast':
        '550 csi.mimecast.org Poor Reputation Sender. - https://community.mimecast.com/docs/DOC-1369#550',
    },
    source: SOURCES.mimecast,
  },
  {
    id: 'proofpoint-marked-invalid',
    kind: 'missing',
    severity: 5,
    phrases: {
      'user email address is marked as invalid':
        '550 5.7.1 <ada@y.example>: Recipient address rejected: User email address is marked as invalid.',
    },
    source: SOURCES.proofpoint,
  },
  {
    id: 'proofpoint-verifying',
    kind: 'greylist',
    severity: 4,
    phrases: {
      'address verification in progress':
        '450 4.1.1 <ada@y.example>: Recipient address rejected: unverified address: Address verification in progress',
      'unverified address':
        '450 4.1.1 <ada@y.example>: Recipient address rejected: unverified address: Address verification in progress',
    },
    source: `${SOURCES.postfix}; Proofpoint uses the same text`,
  },
  {
    id: 'trend-invalid-recipient',
    kind: 'missing',
    severity: 5,
    phrases: {
      'recipient address rejected: invalid-recipient':
        '554 5.7.1 <ada@y.example>: Recipient address rejected: Invalid-Recipient.',
    },
    source: SOURCES.trendMicro,
  },
  {
    id: 'trend-ers',
    kind: 'blocked',
    phrases: {
      '\\bers-(?:dul|rbl|qil)': '554 5.7.1 <ada@y.example>: Recipient address rejected: ERS-QIL.',
      'block-(?:send-er|rcpt)':
        '554 5.7.1 <ada@y.example>: Recipient address rejected: BLOCK-SEND-ER.',
    },
    source: SOURCES.trendMicro,
  },
  {
    id: 'symantec-rejected',
    kind: 'likely_missing',
    provider: 'symantec',
    severity: 5,
    phrases: {
      '^5?(?:4[0-9] )?(?:542 )?\\S+ rejected\\.?$': '542 ada@y.example Rejected',
    },
    source: SOURCES.sisimai,
  },
  {
    id: 'cyrus-missing',
    kind: 'missing',
    severity: 5,
    phrases: {
      'mailbox unknown\\. either there is no mailbox associated':
        '550 Mailbox unknown. Either there is no mailbox associated with this name or you do not have authorization to see it. 5.1.1 User unknown',
    },
    source: 'Cyrus IMAP: lmtpd convert_lmtp',
  },
  {
    id: 'facebook-exists',
    kind: 'missing',
    severity: 5,
    phrases: {
      '\\brcp-p1\\b':
        '550 5.1.1 RCP-P1 http://postmaster.facebook.com/response_codes?ip=192.0.2.54#rcp exist',
    },
    source: SOURCES.facebook,
  },
  {
    id: 'facebook-preference',
    kind: 'filtered',
    phrases: {
      '\\brcp-p[2-9]\\b':
        '550 5.1.1 RCP-P2 http://postmaster.facebook.com/response_codes?ip=192.0.2.135#rcp Refused due to recipient preferences',
      'refused due to recipient preferences':
        '550 5.1.1 RCP-P2 http://postmaster.facebook.com/response_codes?ip=192.0.2.135#rcp Refused due to recipient preferences',
    },
    source: SOURCES.facebook,
  },
  {
    id: 'facebook-policy',
    kind: 'blocked',
    phrases: {
      '\\b(?:pol|dns|con|int|msg|rcp-(?:l|t))-?[a-z]?\\d http://postmaster\\.facebook\\.com':
        '554 5.7.1 POL-P4 http://postmaster.facebook.com/response_codes?ip=192.0.2.1#pol message blocked',
    },
    source: SOURCES.facebook,
  },
  {
    id: 'laposte-invalid',
    kind: 'missing',
    severity: 5,
    phrases: {
      '\\blpn007_(?:401|416)\\b':
        '550 5.5.0 Adresse destinataire invalide. Invalid recipient. LPN007_416',
    },
    source: SOURCES.sisimai,
  },
  {
    id: 'laposte-account-blocked',
    kind: 'disabled',
    severity: 5,
    phrases: {
      '\\blpn007_42[0-9]\\b':
        '550 5.5.0 Le compte du destinataire est bloque. The recipient account is blocked. LPN007_426',
    },
    source: SOURCES.sisimai,
  },
  {
    id: 'laposte-refused',
    kind: 'blocked',
    phrases: {
      '\\blpn00\\d_\\d{3}\\b': '550 5.5.0 Service refuse. Veuillez essayer plus tard. LPN001_108',
    },
    source: SOURCES.sisimai,
  },
  {
    id: 'orange-full',
    kind: 'full',
    phrases: {
      '\\bofr(?:\\d{3})?_?417\\b':
        '552 5.1.1 Boite du destinataire pleine. Recipient overquota. OFR_417 [417]',
      'boite du destinataire pleine':
        '552 5.1.1 Boite du destinataire pleine. Recipient overquota. OFR_417 [417]',
    },
    source: SOURCES.orange,
  },
  {
    id: 'orange-missing',
    kind: 'missing',
    severity: 5,
    phrases: {
      '\\bofr(?:\\d{3})?_?(?:416|403)\\b':
        '550 5.1.1 Adresse d au moins un destinataire invalide. Invalid recipient. OFR204_416 [416]',
      'adresse d.au moins un destinataire invalide':
        '550 5.1.1 Adresse d au moins un destinataire invalide. Invalid recipient. OFR204_416 [416]',
    },
    source: SOURCES.orange,
  },
  {
    id: 'orange-refused',
    kind: 'blocked',
    phrases: {
      '\\bofr(?:_|\\d{3}_)\\d{3}\\b': '550 5.2.0 Mail rejete. Mail rejected. ofr_506 [506]',
    },
    source: SOURCES.orange,
  },
  {
    id: 'godaddy-missing',
    kind: 'missing',
    severity: 5,
    phrases: {
      '\\bib603b?\\b': '550 5.1.1 Recipient not found IB603 <http://x.co/irbounce>',
    },
    source: SOURCES.godaddy,
  },
  {
    id: 'godaddy-blocked',
    kind: 'blocked',
    phrases: {
      '\\bib\\d{3}[a-z]?\\b':
        '550 5.1.1 <ada@y.example> - 192.0.2.1 has sent to too many recipients this hour. IB607',
    },
    source: SOURCES.godaddy,
  },
  {
    id: 'tencent-missing',
    kind: 'missing',
    provider: 'tencent',
    severity: 5,
    phrases: {
      'mailbox not found': '550 Mailbox not found. http://service.mail.qq.com/cgi-bin/help',
      'mailbox unavailable or access denied': '550 Mailbox unavailable or access denied',
    },
    source: SOURCES.tencent,
  },
  {
    id: 'zoho-policy',
    kind: 'blocked',
    provider: 'zoho',
    phrases: {
      'mail rejected by destination domain': '541 5.4.1 Mail rejected by destination domain',
      'flagged as spam': '554 5.7.1 Email cannot be delivered. Reason: Email flagged as Spam.',
    },
    source: SOURCES.zoho,
  },
  {
    id: 'comcast-missing',
    kind: 'missing',
    severity: 5,
    phrases: {
      'not our customer': '550 5.1.1 Not our Customer',
      'recipient mailbox unallocated': '550 5.1.1 <ada@comcast.net> recipient mailbox unallocated',
    },
    source: SOURCES.comcast,
  },
  {
    id: 'comcast-blocked',
    kind: 'blocked',
    phrases: {
      '\\bbl0{4}\\d{1,20}\\b': '554 resimta-ch2 192.0.2.1 Comcast BL000001 Blocked',
    },
    source: SOURCES.comcast,
  },
]
