import { describe, expect, test } from 'vitest'
import { classifyReply, enhancedOf } from './classify.ts'
import { ORDINARY_PROVIDER, PROVIDERS, providerOf } from './providers.ts'
import { REPLY_RULES } from './reply-rules.ts'

/** provider, code, text, reason, rule. Texts as servers send them; where each comes from stands in its rule. */
const SAMPLES: readonly (readonly [string, number, string, string, string])[] = [
  [
    'google',
    450,
    '4.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages',
    'accepted_exists',
    'google-rate-of-user',
  ],
  [
    'google',
    550,
    "5.1.1 The email account that you tried to reach does not exist. Please try double-checking the recipient's email address",
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
    452,
    "4.2.2 The recipient's inbox is out of storage space and inactive.",
    'mailbox_full',
    'google-full',
  ],
  [
    'google',
    553,
    "5.1.2 We weren't able to find the recipient domain.",
    'no_domain',
    'google-domain',
  ],
  [
    'google',
    550,
    '5.7.25 The IP address sending this message does not have a PTR record setup',
    'blocked',
    'google-policy',
  ],
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
    'other',
    550,
    '5.7.1 RESOLVER.RST.NotAuthorized; not authorized',
    'accepted_exists',
    'microsoft-restricted',
  ],
  [
    'microsoft365',
    550,
    '5.7.133 sender not authenticated for group',
    'accepted_exists',
    'microsoft-restricted-code',
  ],
  [
    'microsoft365',
    554,
    '5.2.121 Recipient limit for the hour',
    'accepted_exists',
    'microsoft-hourly-limit',
  ],
  [
    'microsoft365',
    550,
    '5.7.1 TRANSPORT.RULES.RejectMessage; the message was rejected by organization policy',
    'unclassified_reply',
    'microsoft-resolver',
  ],
  [
    'outlook_consumer',
    451,
    '4.5.3 Recipients belong to multiple regions ATTR38',
    'server_error',
    'microsoft-regions',
  ],
  [
    'microsoft365',
    550,
    '5.7.606 Access denied, banned sending IP [192.0.2.1]',
    'blocked',
    'microsoft-policy',
  ],
  [
    'outlook_consumer',
    550,
    '5.7.1 Unfortunately, messages from [192.0.2.1] were not sent. part of their network is on our block list (S3140)',
    'blocked',
    'outlook-policy',
  ],
  [
    'outlook_consumer',
    550,
    '5.5.0 Requested action not taken: mailbox unavailable (S2017062302)',
    'mailbox_not_found',
    'outlook-missing',
  ],
  ['yahoo', 450, 'User is receiving mail too quickly', 'accepted_exists', 'yahoo-rate-of-user'],
  [
    'yahoo',
    554,
    "delivery error: dd This user doesn't have a yahoo.com account (x@yahoo.com) [0]",
    'mailbox_not_found',
    'yahoo-missing',
  ],
  [
    'yahoo',
    554,
    '30 Sorry, your message cannot be delivered. This mailbox is disabled (554.30).',
    'mailbox_disabled',
    'yahoo-disabled',
  ],
  [
    'yahoo',
    421,
    '4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume',
    'blocked',
    'yahoo-policy',
  ],
  [
    'apple',
    550,
    '5.1.1 <someone@icloud.com>: inactive email address',
    'mailbox_not_found',
    'apple-missing',
  ],
  [
    'mimecast',
    451,
    'Internal resources are temporarily unavailable - https://community.mimecast.com/docs/DOC-1369#451',
    'greylisted',
    'mimecast-greylist',
  ],
  ['mimecast', 451, 'Recipient temporarily unavailable', 'rate_limited', 'mimecast-throttled'],
  ['mimecast', 550, 'Account inbounds disabled', 'mailbox_disabled', 'mimecast-inbounds'],
  ['mimecast', 550, 'Envelope blocked - User Entry', 'blocked', 'mimecast-blocked'],
  [
    'proofpoint',
    550,
    '5.7.1 Recipient address rejected: User email address is marked as invalid',
    'mailbox_not_found',
    'proofpoint-marked-invalid',
  ],
  [
    'proofpoint',
    450,
    '4.1.1 <x@y.example>: Recipient address rejected: unverified address: Address verification in progress',
    'greylisted',
    'proofpoint-verifying',
  ],
  [
    'trend_micro',
    554,
    '5.7.1 <x@y.example>: Recipient address rejected: Invalid-Recipient.',
    'mailbox_not_found',
    'trend-invalid-recipient',
  ],
  [
    'trend_micro',
    550,
    '5.7.1 Service unavailable; Client host blocked using Trend Micro ERS-DUL',
    'blocked',
    'trend-ers',
  ],
  ['symantec', 542, 'x@y.example Rejected', 'mailbox_not_found', 'symantec-rejected'],
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
  [
    'orange',
    550,
    '5.1.1 Adresse d au moins un destinataire invalide. Invalid recipient. OFR204_416 [416]',
    'mailbox_not_found',
    'orange-missing',
  ],
  ['orange', 550, '5.2.0 Mail rejete. Mail rejected. ofr_506 [506]', 'blocked', 'orange-refused'],
  [
    'godaddy',
    550,
    '5.1.1 Recipient not found IB603 <http://x.co/irbounce>',
    'mailbox_not_found',
    'godaddy-missing',
  ],
  ['godaddy', 552, '5.2.2 IB802 mailbox', 'mailbox_full', 'godaddy-full'],
  [
    'godaddy',
    550,
    '5.1.1 <x@y.example> - 192.0.2.1 has sent to too many recipients this hour. IB607',
    'blocked',
    'godaddy-blocked',
  ],
  [
    'tencent',
    550,
    'Mailbox not found. http://service.mail.qq.com/cgi-bin/help',
    'mailbox_not_found',
    'tencent-missing',
  ],
  ['zoho', 541, '5.4.1 Mail rejected by destination domain', 'blocked', 'zoho-policy'],
  ['comcast', 550, '5.1.1 Not our Customer', 'mailbox_not_found', 'comcast-missing'],
  ['comcast', 554, 'resimta-ch2 192.0.2.1 Comcast BL000001 Blocked', 'blocked', 'comcast-blocked'],
  ['barracuda', 451, '4.7.1 Greylisted for 5 minutes', 'greylisted', 'greylist'],
  [
    'barracuda',
    550,
    'cuda_nsu 5.1.1 <x@y.example>: Recipient address rejected: No such user',
    'mailbox_not_found',
    'missing-unknown',
  ],
  [
    'gmx',
    550,
    'Requested action not taken: mailbox unavailable',
    'mailbox_not_found',
    'mailbox-unavailable',
  ],
  [
    'gmx',
    550,
    'Requested action not taken: mailbox unavailable Reject due to policy restrictions.',
    'blocked',
    'policy',
  ],
  [
    'other',
    550,
    '5.1.1 <x@y.example>: Recipient address rejected: User unknown in local recipient table',
    'mailbox_not_found',
    'missing-text',
  ],
  ['other', 550, 'Unknown recipient', 'mailbox_not_found', 'missing-unknown'],
  [
    'other',
    553,
    'sorry, this recipient is not in my validrcptto list (#5.7.1)',
    'mailbox_not_found',
    'missing-nobody',
  ],
  ['other', 551, 'The user has moved', 'mailbox_not_found', 'moved'],
  ['other', 550, 'User x has exceeded the mailbox quota', 'mailbox_full', 'full-text'],
  [
    'other',
    552,
    'Requested mail action aborted: exceeded storage allocation',
    'mailbox_full',
    'full-storage',
  ],
  ['other', 452, '4.3.1 Insufficient system storage', 'server_error', 'storage-of-server'],
  ['other', 550, 'This account has been suspended', 'mailbox_disabled', 'disabled-text'],
  ['other', 550, '5.1.8 Sender address rejected: Domain not found', 'blocked', 'sender-code'],
  ['other', 550, 'Sender verify failed: user unknown', 'blocked', 'sender-address'],
  [
    'other',
    554,
    '5.7.1 Service unavailable; blocked using zen.spamhaus.org',
    'blocked',
    'blocklist-name',
  ],
  ['other', 550, 'You are banned', 'blocked', 'blocklist-word'],
  ['other', 554, 'Poor reputation', 'blocked', 'reputation'],
  [
    'other',
    450,
    '4.7.25 Client host rejected: cannot find your hostname',
    'blocked',
    'reverse-dns',
  ],
  ['other', 550, 'SPF: 192.0.2.1 fails', 'blocked', 'authentication'],
  [
    'other',
    504,
    '5.5.2 <x>: Helo command rejected: need fully-qualified hostname',
    'blocked',
    'helo',
  ],
  ['other', 530, '5.7.0 Must issue a STARTTLS command first', 'blocked', 'tls-needed'],
  ['other', 421, '4.7.0 Too many connections', 'rate_limited', 'too-fast'],
  ['other', 550, 'We do not accept mail from your server', 'blocked', 'our-address'],
  ['other', 554, '5.7.1 <x@y.example>: Relay access denied', 'relay_denied', 'relay'],
  ['other', 550, 'High probability of spam', 'blocked', 'content'],
  ['other', 550, '5.4.6 too many hops', 'server_error', 'loop'],
  ['other', 503, '5.5.1 Bad sequence of commands', 'server_error', 'protocol'],
  ['other', 550, 'Database error', 'server_error', 'server-fault'],
  ['other', 550, '5.1.2 Bad destination host', 'no_domain', 'domain-code'],
  ['other', 550, 'Host unknown', 'no_domain', 'domain-text'],
  ['other', 556, '5.1.10 Recipient address has null MX', 'null_mx', 'takes-no-mail'],
  ['other', 556, '5.1.10 y.example does not accept mail at all', 'null_mx', 'takes-no-mail-code'],
  ['other', 550, 'User reject', 'unclassified_reply', 'user-reject'],
  ['other', 550, 'Recipient address rejected.', 'mailbox_not_found', 'recipient-rejected'],
  ['other', 550, '5.1.1 whatever', 'mailbox_not_found', 'code-missing'],
  ['other', 501, '5.1.3 odd', 'mailbox_not_found', 'code-bad-syntax'],
  ['other', 550, '5.2.1 odd', 'mailbox_disabled', 'code-disabled'],
  ['other', 552, '5.2.2 odd', 'mailbox_full', 'full-code'],
  ['other', 452, '4.5.3 odd', 'rate_limited', 'code-rate'],
  ['other', 554, '5.7.9 odd', 'blocked', 'code-policy'],
  ['other', 450, '4.2.0 odd', 'greylisted', 'code-deferred'],
  ['other', 550, '5.3.0 odd', 'server_error', 'code-system'],
  ['other', 550, '5.6.7 SMTPUTF8 is required', 'smtputf8_unsupported', 'smtputf8'],
  ['other', 550, 'only accepting mail from members', 'unclassified_reply', 'only-members'],
  [
    'other',
    450,
    '4.2.1 This mailbox is receiving mail too quickly',
    'accepted_exists',
    'rate-of-user',
  ],
  ['other', 550, '5.5.4 invalid domain name', 'server_error', 'protocol-code'],
  [
    'other',
    550,
    '5.1.1 Requested action not taken: mailbox unavailable',
    'mailbox_not_found',
    'missing-code-and-text',
  ],
  ['other', 554, '5.6.0 bad header', 'blocked', 'content-proper'],
]

describe('classifyReply', () => {
  test.each(SAMPLES)('%s %d %s is %s', (provider, code, text, reason, rule) => {
    const met = classifyReply({ phase: 'rcpt', provider, code, text })
    expect([met.reason, met.rule]).toEqual([reason, rule])
  })

  test('every rule has a sample and every rule a source', () => {
    const sampled = new Set(SAMPLES.map((sample) => sample[4]))
    expect(REPLY_RULES.map((rule) => rule.id).filter((id) => !sampled.has(id))).toEqual([])
    expect(REPLY_RULES.filter((rule) => rule.source.length < 5)).toEqual([])
    expect(new Set(REPLY_RULES.map((rule) => rule.id)).size).toBe(REPLY_RULES.length)
  })

  test('no 4xx is ever undeliverable, whatever its words', () => {
    for (const [provider, , text] of SAMPLES) {
      for (const code of [421, 450, 451, 452]) {
        const met = classifyReply({
          phase: 'rcpt',
          provider,
          code,
          enhanced: null,
          text: text.replace(/\b5\.(\d+\.\d+)/, '4.$1'),
        })
        expect([text, met.verdict]).not.toEqual([text, 'undeliverable'])
      }
    }
  })

  test('no reply before RCPT is ever about the mailbox', () => {
    for (const [provider, code, text] of SAMPLES) {
      for (const phase of ['greeting', 'ehlo', 'starttls', 'mail'] as const) {
        const met = classifyReply({ phase, provider, code, text })
        expect([text, met.verdict, met.mailbox]).toEqual([text, 'unknown', 'unknown'])
      }
    }
  })

  test('a refusal that names our own host is about us', () => {
    const text = '550 5.1.1 verifier.sender.test does not exist'
    const met = classifyReply({
      phase: 'rcpt',
      provider: '',
      code: 550,
      text,
      own: ['verifier.sender.test'],
    })
    expect(met.reason).toBe('blocked')
  })

  test('words in a local part do not count', () => {
    const met = classifyReply({
      phase: 'rcpt',
      provider: '',
      code: 550,
      text: '<spamhaus.blocked@y.example> user unknown',
    })
    expect(met.reason).toBe('mailbox_not_found')
  })

  test('250 and 251 are acceptance, 252 proves nothing', () => {
    const reasons = [250, 251, 252].map(
      (code) => classifyReply({ phase: 'rcpt', provider: '', code, text: 'ok' }).reason,
    )
    expect(reasons).toEqual(['accepted', 'accepted', 'unclassified_reply'])
  })

  test.each([
    ['4.2.0 Greylisted, try again in 300 seconds', 300],
    ['4.7.1 Greylisted for 5 minutes', 300],
    ['Greylisting, retry in 00:04:59', 299],
    ['greylisted, wait 2 hours', 7200],
    ['greylisted; retry-after: 90', 90],
    ['greylisted', null],
  ])('the wait in "%s" is %s seconds', (text, seconds) => {
    expect(classifyReply({ phase: 'rcpt', provider: '', code: 450, text }).retrySeconds).toBe(
      seconds,
    )
  })

  test('what no rule knows is unknown', () => {
    const met = classifyReply({
      phase: 'rcpt',
      provider: '',
      code: 550,
      text: 'Requested action not taken',
    })
    expect([met.verdict, met.reason]).toEqual(['unknown', 'unclassified_reply'])
  })

  test('the longest reply takes no longer than 50 ms', () => {
    const texts = [
      'user '.repeat(2000),
      'mailbox: '.repeat(2000),
      '<a'.repeat(5000),
      'sender '.repeat(2000),
      'unknown '.repeat(2000),
    ]
    for (const text of texts) {
      const beganMs = performance.now()
      classifyReply({ phase: 'rcpt', provider: '', code: 550, text })
      expect(performance.now() - beganMs).toBeLessThan(50)
    }
  })
})

describe('providers', () => {
  test.each([
    ['gmail-smtp-in.l.google.com', 'google'],
    ['smtp.google.com', 'google'],
    ['hotmail-com.olc.protection.outlook.com', 'outlook_consumer'],
    ['contoso-com.mail.protection.outlook.com', 'microsoft365'],
    ['mta5.am0.yahoodns.net', 'yahoo'],
    ['mx01.mail.icloud.com', 'apple'],
    ['mx1.company.example', 'other'],
    ['notgoogle.com', 'other'],
    ['microsoft', 'microsoft365'],
  ])('%s is %s', (host, id) => {
    expect(providerOf(host).id).toBe(id)
  })

  test('every row has hosts and a source', () => {
    for (const provider of PROVIDERS) {
      expect(provider.hosts.length).toBeGreaterThan(0)
      expect(provider.source.length).toBeGreaterThan(10)
      expect(provider.connections).toBeLessThanOrEqual(20)
    }
    expect(ORDINARY_PROVIDER.id).toBe('other')
    expect(enhancedOf('550 5.1.1 x')).toBe('5.1.1')
  })
})
