import { hostname } from 'node:os'
import { engineSettings } from '@plumbline/runtime/engine-settings'
import { readSettings, type Environment } from '@plumbline/runtime/settings'
import { storeSettings } from '@plumbline/runtime/store-settings'
import { z } from 'zod'

const { FILES_URL, REDIS_PREFIX, SCORE_WEIGHTS_FILE } = storeSettings
const schema = z.object({ ...engineSettings, FILES_URL, REDIS_PREFIX, SCORE_WEIGHTS_FILE })

/** The settings that the doctor examines: those of the workers. */
export type DoctorSettings = Readonly<z.infer<typeof schema>> & { readonly heloName: string }

/**
 * Parses the settings that the doctor examines.
 * @throws SettingsError with all faults
 */
export function doctorSettings(environment: Environment): DoctorSettings {
  const settings = readSettings(schema, environment)
  return { ...settings, heloName: settings.SMTP_HELO_NAME ?? hostname() }
}
