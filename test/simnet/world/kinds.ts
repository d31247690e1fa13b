import { exchange, exim, postfix } from '../smtp/profile.ts'
import type { Profile } from '../smtp/profile.ts'

/** Ordinary kinds of mail server, by name. */
export const KINDS = {
  plain: (host: string): Profile => postfix(host),
  exim: (host: string): Profile => exim(host),
  exchange: (host: string): Profile => exchange(host),
  'no-pipelining': (host: string): Profile =>
    postfix(host, { capabilities: ['SIZE 10240000', '8BITMIME'] }),
  'no-utf8': (host: string): Profile =>
    postfix(host, { capabilities: ['PIPELINING', 'SIZE 10240000', 'STARTTLS', '8BITMIME'] }),
  'helo-only': (host: string): Profile => postfix(host, { heloOnly: true, capabilities: [] }),
  'accept-all': (host: string): Profile => postfix(host, { acceptsAll: true }),
  greylist: (host: string): Profile => postfix(host, { greylistSeconds: 1 }),
  'greylist-slow': (host: string): Profile => postfix(host, { greylistSeconds: 3 }),
  'greylist-exim': (host: string): Profile => exim(host, { greylistSeconds: 2 }),
  'blocked-banner': (host: string): Profile =>
    postfix(host, {
      refusal: {
        phase: 'banner',
        reply:
          "554 5.7.1 Your access to this mail system has been rejected due to the sending MTA's poor reputation",
      },
    }),
  'blocked-ehlo': (host: string): Profile =>
    postfix(host, {
      refusal: {
        phase: 'ehlo',
        reply: '550 5.7.1 Access denied, bad HELO: your host is on our block list',
      },
    }),
  'blocked-mail': (host: string): Profile =>
    postfix(host, {
      refusal: {
        phase: 'mail',
        reply:
          '550 5.7.1 Sender rejected: the client host [127.0.0.1] is blocked using zen.spamhaus.org',
      },
    }),
  'blocked-rcpt': (host: string): Profile =>
    postfix(host, {
      refusal: {
        phase: 'rcpt',
        reply:
          '554 5.7.1 Service unavailable; Client host [127.0.0.1] blocked using zen.spamhaus.org; https://www.spamhaus.org/query/ip/127.0.0.1',
      },
    }),
  'blanket-reject': (host: string): Profile =>
    postfix(host, { rejectsAll: '550 Requested action not taken' }),
  'slow-banner': (host: string): Profile => postfix(host, { bannerDelayMs: 1500 }),
  /** Accepts the connection and stays silent. */
  silent: (host: string): Profile => postfix(host, { fault: 'no-banner' }),
  /** About 2.5 s from the connection to the reply to RCPT, with TLS in between. */
  unhurried: (host: string): Profile => postfix(host, { bannerDelayMs: 500, replyDelayMs: 500 }),
  /** About 5 s from the connection to the reply to RCPT. */
  leisurely: (host: string): Profile => postfix(host, { bannerDelayMs: 1000, replyDelayMs: 1000 }),
  slow: (host: string): Profile => postfix(host, { bannerDelayMs: 200, replyDelayMs: 300 }),
  'rate-limited': (host: string): Profile =>
    postfix(host, { limits: { rcptPerConnection: 5, rcptPerTransaction: 3 } }),
  'hangs-up-on-errors': (host: string): Profile => postfix(host, { limits: { maxErrors: 3 } }),
  'tls-required': (host: string): Profile =>
    postfix(host, { requiresTls: '530 5.7.0 Must issue a STARTTLS command first' }),
  'no-tls': (host: string): Profile =>
    postfix(host, { capabilities: ['PIPELINING', 'SIZE 10240000', '8BITMIME', 'SMTPUTF8'] }),
  'tls-garbage': (host: string): Profile => postfix(host, { brokenTls: 'garbage' }),
  'tls-refused': (host: string): Profile => postfix(host, { brokenTls: 'refused' }),
  'tls-close': (host: string): Profile => postfix(host, { brokenTls: 'close' }),
  'tls-plaintext': (host: string): Profile => postfix(host, { brokenTls: 'plaintext' }),
} as const satisfies Record<string, (host: string) => Profile>

/** The name of an ordinary kind of mail server. */
export type Kind = keyof typeof KINDS
