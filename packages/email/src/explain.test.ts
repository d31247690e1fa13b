import { expect, test } from 'vitest'
import { REASONS } from '@plumbline/contract/reasons'
import type { Reason } from '@plumbline/contract/reasons'
import type { EmailStatus } from '@plumbline/contract/outcome'
import type { EmailEngineOptions } from './engine.ts'
import { ask, outcomeOf, testEngine, zoneOf } from './engine-fixture.ts'
import { startSmtp } from './smtp-fixture.ts'
import type { SmtpScript } from './smtp-fixture.ts'

const zone = {
  ...zoneOf({ 'a.test': '127.0.0.1', 'optout.test': '127.0.0.1', 'dead.test': '127.9.9.9' }),
  'null.test MX': [{ preference: 0, exchange: '' }],
  'bare.test MX': 'nodata',
  'sick.test MX': 'failed',
  'closed.test MX': 'no_root',
  'inside.test MX': [{ preference: 5, exchange: 'mx.inside.test' }],
  'mx.inside.test A': ['10.0.0.1'],
  'yahoo.com MX': [{ preference: 1, exchange: 'mta5.am0.yahoodns.net' }],
  'mta5.am0.yahoodns.net A': ['127.0.0.1'],
} as const

/** One situation, and the explanation that a client gets. */
interface Row {
  readonly status: EmailStatus
  readonly evidence: Readonly<Record<string, unknown>>
  /** Default `ada@a.test`; of several the last counts. */
  readonly subjects?: readonly string[]
  readonly script?: SmtpScript
  readonly options?: Partial<EmailEngineOptions>
  readonly withinMs?: number
}

const says = (reply: string): SmtpScript => ({ recipient: () => reply })

/** Evidence of a verdict that is based on a reply to RCPT. */
const replied = (code: number, enhanced: string | null): Row['evidence'] => ({
  mx_host: 'mx.a.test',
  mx_address: '127.0.0.1',
  provider: 'other',
  phase: 'rcpt',
  tls: false,
  reply_code: code,
  enhanced_code: enhanced,
})

const TABLE: Readonly<Record<Reason<'email'>, Row>> = {
  accepted: {
    status: 'deliverable',
    script: says('250 2.1.5 Ok'),
    evidence: replied(250, '2.1.5'),
  },
  accept_all: { status: 'risky', script: {}, evidence: replied(250, '2.1.5') },
  accept_means_nothing: {
    status: 'risky',
    subjects: ['ada@yahoo.com'],
    script: {},
    evidence: { provider: 'yahoo', mx_host: 'mta5.am0.yahoodns.net', reply_code: 250 },
  },
  accepted_exists: {
    status: 'unknown',
    script: says('450 4.2.1 The user is receiving mail too quickly'),
    evidence: replied(450, '4.2.1'),
  },
  invalid_syntax: {
    status: 'undeliverable',
    subjects: ['a..b@a.test'],
    evidence: { syntax: 'local_dots' },
  },
  domain_literal: { status: 'unknown', subjects: ['ada@[192.0.2.1]'], evidence: {} },
  no_domain: { status: 'undeliverable', subjects: ['ada@nowhere.test'], evidence: {} },
  null_mx: { status: 'undeliverable', subjects: ['ada@null.test'], evidence: {} },
  no_mail_host: { status: 'undeliverable', subjects: ['ada@bare.test'], evidence: {} },
  mailbox_not_found: {
    status: 'undeliverable',
    script: says('550 5.1.1 <ada@a.test>: User unknown'),
    evidence: { ...replied(550, '5.1.1'), reply_text: '<***@a.test>: User unknown' },
  },
  mailbox_disabled: {
    status: 'undeliverable',
    script: says('550 5.2.1 This account is disabled'),
    evidence: replied(550, '5.2.1'),
  },
  mailbox_full: {
    status: 'risky',
    script: says('452 4.2.2 Mailbox full'),
    evidence: replied(452, '4.2.2'),
  },
  relay_denied: {
    status: 'unknown',
    script: says('554 5.7.1 <ada@a.test>: Relay access denied'),
    evidence: replied(554, '5.7.1'),
  },
  greylisted: {
    status: 'unknown',
    script: says('450 4.2.0 Greylisted, try again in 60 seconds'),
    evidence: { ...replied(450, '4.2.0'), retry_after: 75 },
  },
  blocked: {
    status: 'unknown',
    script: says('554 5.7.1 Client host blocked using zen.spamhaus.org'),
    evidence: replied(554, '5.7.1'),
  },
  blanket_reject: {
    status: 'unknown',
    subjects: ['ada@a.test', 'bob@a.test', 'eve@a.test'],
    script: says('550 5.1.1 User unknown'),
    evidence: replied(550, '5.1.1'),
  },
  rate_limited: {
    status: 'unknown',
    script: says('450 4.7.1 Error: too much mail, rate limit exceeded'),
    evidence: { ...replied(450, '4.7.1'), retry_after: 300 },
  },
  server_error: {
    status: 'unknown',
    script: says('451 4.3.0 Internal error'),
    evidence: { ...replied(451, '4.3.0'), retry_after: 300 },
  },
  unclassified_reply: {
    status: 'unknown',
    script: says('550 Requested action not taken'),
    evidence: replied(550, null),
  },
  smtputf8_unsupported: {
    status: 'unknown',
    subjects: ['zoë@a.test'],
    script: {},
    evidence: { mx_host: 'mx.a.test', phase: 'rcpt' },
  },
  connect_failed: {
    status: 'unknown',
    subjects: ['ada@dead.test'],
    evidence: { mx_host: 'mx.dead.test', mx_address: '127.9.9.9', phase: 'connect' },
  },
  protocol_error: {
    status: 'unknown',
    script: { greeting: 'hello' },
    evidence: { mx_host: 'mx.a.test', phase: 'greeting' },
  },
  smtp_unavailable: {
    status: 'unknown',
    subjects: ['ada@dead.test'],
    options: { selfTest: { targets: ['dead.test'] } },
    evidence: { mx_host: 'mx.dead.test' },
  },
  probing_off: {
    status: 'unknown',
    options: { probing: 'dns_only' },
    evidence: { mx_host: 'mx.a.test', provider: 'other' },
  },
  probe_limit: {
    status: 'unknown',
    subjects: ['ada@a.test', 'bob@a.test'],
    script: {},
    options: { limits: { recipientsPerDomainPerHour: 4 } },
    evidence: { mx_host: 'mx.a.test', retry_after: expect.any(Number) },
  },
  opted_out: {
    status: 'unknown',
    subjects: ['ada@optout.test'],
    evidence: { mx_host: 'mx.optout.test' },
  },
  dns_failed: { status: 'unknown', subjects: ['ada@sick.test'], evidence: {} },
  dns_unavailable: { status: 'unknown', subjects: ['ada@closed.test'], evidence: {} },
  unsafe_host: {
    status: 'unknown',
    subjects: ['ada@inside.test'],
    evidence: { mx_host: 'mx.inside.test' },
  },
  timeout: {
    status: 'unknown',
    script: { recipient: () => null },
    withinMs: 150,
    evidence: { mx_host: 'mx.a.test' },
  },
}

test('there is a row for each reason that a client can get', () => {
  expect(Object.keys(TABLE).toSorted()).toEqual(Object.keys(REASONS.email).toSorted())
})

test.each(Object.entries(TABLE))('%s is reported with its evidence', async (reason, row) => {
  await using smtp = await startSmtp(row.script ?? {})
  await using engine = testEngine(smtp.port, zone, row.options)
  // Port 25 counts as blocked once the self-test has ended.
  await engine.health()
  const subjects = row.subjects ?? ['ada@a.test']
  const answers = await ask(engine, subjects, {
    depth: reason === 'accepted' ? 'basic' : 'extended',
    signal: AbortSignal.timeout(row.withinMs ?? 4_000),
  })
  const { status, reason: told, evidence } = outcomeOf(answers.at(-1))
  expect({ status, told }).toEqual({ status: row.status, told: reason })
  expect(evidence).toMatchObject(row.evidence)
})
