import { readSettings, type Environment } from '@plumbline/runtime/settings'
import { z } from 'zod'

const schema = z.object({
  DATA_DIR: z.string().default('.data'),
  DATABASE_URL: z.string().optional(),
  REDIS_URL: z.string().optional(),
  API_URL: z.url({ protocol: /^https?$/, error: 'expected http://host:port' }).optional(),
  KEY_PREFIX: z
    .string()
    .regex(/^[a-z][a-z0-9]{1,15}$/, 'expected 2 to 16 small letters and digits')
    .default('svc'),
  PLUMBLINE_KEY: z.string().optional(),
})

/** What every command may need to find the service and to call it. */
export type CliSettings = Readonly<z.infer<typeof schema>>

/** Reads the settings of the command line; throws `SettingsError` with all faults. */
export function cliSettings(environment: Environment): CliSettings {
  return readSettings(schema, environment)
}
