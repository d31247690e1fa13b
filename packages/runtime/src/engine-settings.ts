import { z } from 'zod'
import { flag, secondsList, wholeNumber, wholeNumbers, wordList } from './settings.ts'

const ZONE = /^([a-z0-9_-]{1,63}\.)+[a-z0-9-]{1,63}\.?$/i

/**
 * Settings of the checks: name servers, SMTP, registries, HLR providers, data. Documented in
 * docs/settings.md.
 */
export const engineSettings = {
  /** `ip` or `ip:port`; unset: the name servers of the system. */
  DNS_SERVERS: wordList().optional(),
  /** CIDRs that may be connected to although they are not public. */
  EGRESS_ALLOW: wordList().default([]),
  /** Unset: `lists` below `DATA_DIR`, where there is one. */
  LISTS_DIR: z.string().optional(),

  SMTP_PORT: port(25),
  /** Block list zones that are queried for our own addresses; no result depends on them. */
  SMTP_DNS_LISTS: zones(),
  SMTP_HELO_NAME: z.string().optional(),
  SMTP_MAIL_FROM: z.string().optional(),
  SMTP_PROXY_URL: z.string().optional(),
  SMTP_SOURCE_ADDRESSES: wordList().default([]),
  /** `false`: no SMTP connections, verdicts by DNS and lists only. */
  SMTP_PROBING: flag().default(true),
  SMTP_PROBING_OFF: wordList().default([]),
  /**
   * Connections to one provider or mail host from one address; unset: the conservative limits of
   * the provider table.
   */
  SMTP_CONNECTIONS_PER_HOST: wholeNumber({ min: 1 }).optional(),
  SMTP_RECIPIENTS_PER_MINUTE: wholeNumber({ min: 2 }).optional(),
  GREYLIST_SCHEDULE_SECONDS: secondsList().default([300, 900, 2100, 4500]),
  /**
   * Delay of the recheck, in a batch, of a refusal that one reply does not prove; 0: no recheck.
   */
  SMTP_SECOND_LOOK_SECONDS: wholeNumber({ min: 0 }).default(600),

  RDAP_BOOTSTRAP_URL: z.url().default('https://data.iana.org/rdap/dns.json'),
  WHOIS_SERVER: z.string().default('whois.iana.org'),
  WHOIS_PORT: port(43),
  /** Whether a domain's front page is fetched to detect parking. */
  PARKED_PAGES: flag().default(false),
  /** Port of name servers that are queried directly; other than 53 for tests only. */
  NAME_SERVER_PORT: port(53),

  /**
   * In order of preference; with several, the three below hold one value for each, comma-separated.
   */
  HLR_PROVIDER: wordList().default([]),
  HLR_URL: z.string().optional(),
  HLR_KEY: z.string().optional(),
  HLR_SECRET: z.string().optional(),
  /** Maximum number of lookups bought from a provider in a UTC day. */
  HLR_DAILY_CAP: wholeNumber({ min: 0 }).default(10_000),
  HLR_ACCOUNT_DAILY_CAP: accountDailyCap(),

  IP_CITY_DB: z.string().optional(),
  IP_ASN_DB: z.string().optional(),
  /** Zones of lists that are queried over DNS for each address. */
  IP_DNS_LISTS: zones(),

  /** Whether outcomes that one account's calls found are reused for others. */
  SHARE_FINDINGS: flag().default(true),

  ...wholeNumbers({
    /** Queries per second to one registry server, over all workers. */
    REGISTRY_QUERIES_PER_SECOND: 2,
    /** Queries per second to one provider, over all workers. */
    HLR_QUERIES_PER_SECOND: 15,
    HLR_CONNECTIONS: 10,
    HLR_CACHE_HOURS: 24,
  }),
}

/** Maximum number of lookups bought for one account in a UTC day, from all providers together. */
export function accountDailyCap(): z.ZodDefault<ReturnType<typeof wholeNumber>> {
  return wholeNumber({ min: 0 }).default(1_000)
}

/** Names of DNS zones; none by default. */
function zones(): z.ZodDefault<ReturnType<typeof wordList>> {
  return wordList()
    .refine((names) => names.every((name) => ZONE.test(name)), {
      message: 'expected names of zones, comma-separated',
    })
    .default([])
}

function port(fallback: number): z.ZodDefault<ReturnType<typeof wholeNumber>> {
  return wholeNumber({ min: 1, max: 65_535 }).default(fallback)
}
