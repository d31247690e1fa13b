import { z } from 'zod'
import { processEnvironment, readSettings, type Environment } from './settings.ts'

const schema = z.object({
  AWS_ACCESS_KEY_ID: z.string().optional(),
  AWS_SECRET_ACCESS_KEY: z.string().optional(),
  AWS_SESSION_TOKEN: z.string().optional(),
})

/**
 * Supports `..._FILE` variables for the credentials of S3, as for other secrets: sets the variables
 * that its client reads from the files.
 *
 * @throws SettingsError with all faults
 */
export function readAwsSecrets(environment: Environment = processEnvironment()): void {
  for (const [name, value] of Object.entries(readSettings(schema, environment))) {
    if (value !== undefined) process.env[name] = value
  }
}
