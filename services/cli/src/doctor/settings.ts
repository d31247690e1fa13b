import { hostname } from 'node:os'
import {
  flag,
  readSettings,
  wholeNumber,
  wordList,
  type Environment,
} from '@plumbline/runtime/settings'
import { z } from 'zod'

const port = (fallback: number): z.ZodDefault<ReturnType<typeof wholeNumber>> =>
  wholeNumber({ min: 1, max: 65_535 }).default(fallback)

const schema = z.object({
  FILES_URL: z.string().optional(),
  LISTS_DIR: z.string().optional(),
  IP_CITY_DB: z.string().optional(),
  IP_ASN_DB: z.string().optional(),
  SCORE_WEIGHTS_FILE: z.string().optional(),
  SMTP_PORT: port(25),
  SMTP_HELO_NAME: z.string().optional(),
  SMTP_MAIL_FROM: z.string().optional(),
  SMTP_PROXY_URL: z.string().optional(),
  SMTP_SOURCE_ADDRESSES: wordList().default([]),
  SMTP_PROBING: flag().default(true),
  RDAP_BOOTSTRAP_URL: z.url().default('https://data.iana.org/rdap/dns.json'),
  WHOIS_SERVER: z.string().default('whois.iana.org'),
  WHOIS_PORT: port(43),
  HLR_PROVIDER: wordList().default([]),
  HLR_URL: z.string().optional(),
  HLR_KEY: z.string().optional(),
  HLR_SECRET: z.string().optional(),
})

/** The settings that the doctor looks behind; the same variables as the workers read. */
export type DoctorSettings = Readonly<z.infer<typeof schema>> & { readonly heloName: string }

/** Reads them. @throws SettingsError with all faults */
export function doctorSettings(environment: Environment): DoctorSettings {
  const settings = readSettings(schema, environment)
  return { ...settings, heloName: settings.SMTP_HELO_NAME ?? hostname() }
}
