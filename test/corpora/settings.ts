import { resolve } from 'node:path'
import { readSettings, type Environment } from '@plumbline/runtime/settings'
import { z } from 'zod'
import type { PredictorSettings } from './predictors.ts'

const SETTINGS = z.object({
  IP_CITY_DB: z.string().optional(),
  IP_ASN_DB: z.string().optional(),
  LISTS_DIR: z.string().optional(),
})

/** The settings of predictions from the environment; throws one error with every fault. */
export function predictorSettings(environment: Environment, root: string): PredictorSettings {
  const settings = readSettings(SETTINGS, environment)
  return {
    root: resolve(root),
    cityDb: settings.IP_CITY_DB,
    asnDb: settings.IP_ASN_DB,
    listsDir: settings.LISTS_DIR ?? null,
  }
}
