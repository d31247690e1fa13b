import { readSettings, type Environment } from '@plumbline/runtime/settings'
import { keyPrefix, storeSettings } from '@plumbline/runtime/store-settings'
import { z } from 'zod'

const schema = z.object({
  DATA_DIR: storeSettings.DATA_DIR,
  DATABASE_URL: storeSettings.DATABASE_URL.optional(),
  DATABASE_DIRECT_URL: storeSettings.DATABASE_DIRECT_URL,
  REDIS_URL: storeSettings.REDIS_URL,
  API_URL: z.url({ protocol: /^https?$/, error: 'expected http://host:port' }).optional(),
  KEY_PREFIX: keyPrefix(),
  /** Base URL of the service for users, for links in messages. */
  PUBLIC_URL: z.url({ protocol: /^https?$/, error: 'expected https://host' }).optional(),
  PLUMBLINE_KEY: z.string().optional(),
})

/** Settings of every command, to find and call the service. */
export type CliSettings = Readonly<z.infer<typeof schema>>

/** Reads the settings of the command line; throws `SettingsError` with all faults. */
export function cliSettings(environment: Environment): CliSettings {
  return readSettings(schema, environment)
}
