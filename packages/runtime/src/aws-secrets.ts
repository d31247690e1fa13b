import { z } from 'zod'
import { processEnvironment, readSettings, type Environment } from './settings.ts'

const schema = z.object({
  AWS_ACCESS_KEY_ID: z.string().optional(),
  AWS_SECRET_ACCESS_KEY: z.string().optional(),
  AWS_SESSION_TOKEN: z.string().optional(),
})

/**
 * Lets the keys of a store on S3 stand in files, as other secrets may: its client reads its own variables,
 * so these are set from the files.
 * @throws SettingsError with all faults
 */
export function readAwsSecrets(environment: Environment = processEnvironment()): void {
  for (const [name, value] of Object.entries(readSettings(schema, environment))) {
    if (value !== undefined) process.env[name] = value
  }
}
