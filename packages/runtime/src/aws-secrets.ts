import { z } from 'zod'
import { processEnvironment, readSettings, type Environment } from './settings.ts'

const schema = z.object({
  AWS_ACCESS_KEY_ID: z.string().optional(),
  AWS_SECRET_ACCESS_KEY: z.string().optional(),
  AWS_SESSION_TOKEN: z.string().optional(),
})

/**
 * Lets the credentials of S3 be read from files, as other secrets may: sets the variables that its client
 * reads from the files that `..._FILE` name.
 * @throws SettingsError with all faults
 */
export function readAwsSecrets(environment: Environment = processEnvironment()): void {
  for (const [name, value] of Object.entries(readSettings(schema, environment))) {
    if (value !== undefined) process.env[name] = value
  }
}
