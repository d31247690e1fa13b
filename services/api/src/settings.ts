import { SIGN_UP_MODES } from '@plumbline/contract/app/session'
import { ACCOUNT_LIMITS, CALL_LIMITS, UPLOAD_LIMITS } from '@plumbline/contract/limits'
import { accountDailyCap } from '@plumbline/runtime/engine-settings'
import { adminPort, adminSettings } from '@plumbline/runtime/admin-server'
import { flag, wholeNumber, wholeNumbers, wordList } from '@plumbline/runtime/settings'
import { keyPrefix, logLevel, storeSettings } from '@plumbline/runtime/store-settings'
import { tracingSettings } from '@plumbline/runtime/tracing-settings'
import { z } from 'zod'

function count(fallback: number, bounds: { min?: number; max?: number } = {}) {
  return wholeNumber({ min: bounds.min ?? 1, ...(bounds.max ? { max: bounds.max } : {}) }).default(
    fallback,
  )
}

const eachSetting = z.object({
  ...storeSettings,
  ...wholeNumbers(UPLOAD_LIMITS),
  ...wholeNumbers(ACCOUNT_LIMITS),
  ...wholeNumbers(CALL_LIMITS),
  HOST: z.string().default('127.0.0.1'),
  PORT: count(8080, { min: 0, max: 65_535 }),
  ...adminSettings,
  ...tracingSettings,
  ADMIN_PORT: adminPort().default(9_090),
  LOG_LEVEL: logLevel('info'),
  KEY_PREFIX: keyPrefix(),
  /** `false` refunds the credits of checks whose outcome is unknown. */
  CHARGE_UNKNOWN: flag().default(true),
  /** Addresses or CIDRs of proxies whose `X-Forwarded-For` is trusted. */
  TRUSTED_PROXIES: wordList().default([]),
  /** Milliseconds between two reads of a batch for an event stream. */
  EVENTS_EVERY_MS: count(500, { min: 50, max: 60_000 }),
  /** Event streams that one account may have open on this process. */
  EVENT_STREAMS_LIMIT: count(20),
  /** The workers' setting of the same name; shown to the account. */
  HLR_ACCOUNT_DAILY_CAP: accountDailyCap(),
  /**
   * CIDRs to which webhook messages may be sent over http; the workers' setting of the same name.
   */
  EGRESS_ALLOW: wordList().default([]),
  /** Lookups with `Prefer: respond-async` that one account may have open. */
  LOOKUPS_LIMIT: count(1_000),
  /** Webhook endpoints of one account. */
  WEBHOOKS_LIMIT: count(100),
  /**
   * Concurrent downloads of results of one account on this process, with what else decodes chunks:
   * drawing a sample, comparing known rows.
   */
  DOWNLOADS_LIMIT: count(4),
  MAX_CONNECTIONS: count(10_000),
  /** Seconds after the start for which `/readyz` waits for a worker of each kind. */
  WORKERS_WAIT_SECONDS: count(60, { min: 0, max: 3_600 }),
  /** Open connections of one IPv4 address or one IPv6 /64 at most; trusted proxies are exempt. */
  CONNECTIONS_PER_ADDRESS: count(256),
  /**
   * Seconds over which a client must read waiting responses at an average of at least 16 KiB a
   * second.
   */
  SEND_TIMEOUT_SECONDS: count(30, { max: 3_600 }),
  /** Seconds between 503 on `/readyz` and the end of listening, when the program stops. */
  STOP_DELAY_SECONDS: count(1, { min: 0, max: 600 }),
  /** Who may create an account: `open` anybody, `invite` invited people, `off` nobody. */
  SIGN_UP: z.enum(SIGN_UP_MODES).default('open'),
  /** Accounts that one network may create in a day. */
  SIGN_UPS_PER_NETWORK: count(5),
  /**
   * Accounts in a day with addresses of one mail domain, verified ones where mail is sent; free
   * providers are exempt.
   */
  SIGN_UPS_PER_MAIL_DOMAIN: count(20),
  /** Invitations that one account may send by mail in a day. */
  INVITATIONS_PER_DAY: count(50),
  /** Attempts to sign in of one user from one network, in a quarter of an hour. */
  SIGN_IN_TRIES: count(10),
  /** `smtp://user:password@host:587` or `smtps://...`; unset: no mail is sent. */
  MAIL_URL: z
    .string()
    .regex(/^smtps?:\/\//, 'expected an smtp:// or smtps:// address')
    .optional(),
  /** Sender of messages: `Name <address>`. */
  MAIL_FROM: z.string().includes('@').optional(),
  /** Base URL of the service for users, for links in messages. */
  PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .transform(originOf)
    .optional(),
  /** Contact for plans and packs. */
  CONTACT_URL: z
    .string()
    .regex(/^(?:https?:\/\/|mailto:)/, 'expected an https:// or mailto: address')
    .optional(),
  /** Seconds that a stop waits for running calls. */
  DRAIN_SECONDS: count(25, { max: 600 }),
})

/** Settings of the API program. */
export const apiSettings = eachSetting
  .refine((all) => all.CALL_TIMEOUT_SECONDS < all.DEBIT_TIMEOUT_SECONDS, {
    path: ['CALL_TIMEOUT_SECONDS'],
    error: 'expected less than DEBIT_TIMEOUT_SECONDS, else a call under way is given back',
  })
  .refine((all) => all.MAIL_URL === undefined || all.MAIL_FROM !== undefined, {
    path: ['MAIL_FROM'],
    error: 'expected an address that messages come from, since MAIL_URL is set',
  })
  .refine((all) => all.MAIL_URL === undefined || all.PUBLIC_URL !== undefined, {
    path: ['PUBLIC_URL'],
    error: 'expected the address that links in messages lead to, since MAIL_URL is set',
  })

/** Refuses a path, which would be lost: the app is below `/app` of the host. */
function originOf(url: string): string {
  return new URL(url).origin
}

/** The parsed settings. */
export type ApiSettings = Readonly<z.infer<typeof apiSettings>>
